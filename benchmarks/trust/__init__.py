"""Trials of what xsdc does with odd files, tampered models, kills, full disks, races and hostile arrays."""
