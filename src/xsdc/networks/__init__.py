"""Representations: the paper's kernel networks, plain networks, and any torch module, transformer or callable."""

from xsdc.networks.build import build_network
from xsdc.networks.configs import LayerConfig, NetworkConfig
from xsdc.networks.external import FixedNetwork, ModuleNetwork
from xsdc.networks.images import as_images, gradient_map
from xsdc.networks.kernels import RBF, Linear, SphereRBF, median_bandwidth
from xsdc.networks.layered import LayeredNetwork
from xsdc.networks.network import Network, normalize_features
from xsdc.networks.nystrom import ConvNystromLayer, NystromLayer
from xsdc.networks.pooling import Pooling
from xsdc.networks.roots import inverse_sqrt
from xsdc.networks.rules import (
    ParameterGroups,
    PenalisedStep,
    SphereStep,
    adaptive_steps,
    group_parameters,
    make_steps,
)
from xsdc.networks.saving import load_network, save_network
from xsdc.networks.zoo import NETWORKS

__all__ = [
    "NETWORKS",
    "RBF",
    "ConvNystromLayer",
    "FixedNetwork",
    "LayerConfig",
    "LayeredNetwork",
    "Linear",
    "ModuleNetwork",
    "Network",
    "NetworkConfig",
    "NystromLayer",
    "ParameterGroups",
    "PenalisedStep",
    "Pooling",
    "SphereRBF",
    "SphereStep",
    "adaptive_steps",
    "as_images",
    "build_network",
    "gradient_map",
    "group_parameters",
    "inverse_sqrt",
    "load_network",
    "make_steps",
    "median_bandwidth",
    "normalize_features",
    "save_network",
]
