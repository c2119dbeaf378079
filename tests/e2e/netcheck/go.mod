module edgectl.example/netcheck

go 1.24
