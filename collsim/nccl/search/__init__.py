"""Rings, trees and NVLS heads of a node, searched as NCCL does."""
