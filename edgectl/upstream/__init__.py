"""What edgectl brings from outside the distribution's packages: which releases there are, their files and checksums.

One module an upstream, each with the addresses it knows and their source; `lock` writes down what they say, and
`directory` fetches it. Nothing here prints, and no host is touched.
"""
