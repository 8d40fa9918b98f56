"""Facts of what tools print: nvidia-smi, lspci, ibstat, perftest, df, dmesg and others."""
