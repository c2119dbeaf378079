"""The built-in lab: machines made of podman containers that run systemd and sshd, and what a cluster on them needs."""
