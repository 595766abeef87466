"""Times of the modules of a PyTorch model, forward and backward, by hooks.

    import topdnn.torch
    print(topdnn.torch.profile(model, inputs).table())
"""

from . import _profile

try:
    import torch
except ImportError as error:
    raise ImportError("topdnn.torch needs PyTorch: install python3-torch (%s)" % error) from None


class _Marks:
    """The stage that runs. Modules without modules follow each other, but the backward pass may
    reach one before it has left another: then the first one ends."""

    def __init__(self, profile):
        self._profile = profile
        self._stage = None
        self._name = None

    def begin(self, name, pass_):
        self.end()
        self._stage, self._name = self._profile.stage(name, pass_), name
        self._stage.__enter__()

    def end(self, name=None):
        """Ends the stage, if it is that of `name`; None: any."""
        if self._stage is None or name not in (None, self._name):
            return
        stage, self._stage = self._stage, None
        stage.__exit__(None, None, None)


def _requires_gradient(value):
    return isinstance(value, torch.Tensor) and value.requires_grad


def _add_hooks(module, name, marks):
    """Around a module without modules of its own; returns the hooks' handles.

    Its backward pass is from the gradient of its output to those of its inputs. (A hook of the
    module would forbid that a model changes the output in place, as ResNet's additions do.)
    """

    def after_forward(_module, inputs, output):
        marks.end()
        if _requires_gradient(output):
            output.register_hook(lambda _: marks.begin(name, "backward"))
        for value in inputs:
            if _requires_gradient(value):
                value.register_hook(lambda _: marks.end(name))

    return [
        module.register_forward_pre_hook(lambda *_: marks.begin(name, "forward")),
        module.register_forward_hook(after_forward),
    ]


def profile(model, inputs, train=True, loss=None, seconds=1.0):
    """Profiles model(*inputs), and its backward pass if `train`; returns a topdnn.Profile.

    `inputs`: a tensor, or a tuple of them. `loss`: a function of the output; default: its sum.
    A module's own operations are its stage; what runs between modules is in the step alone.
    """
    if isinstance(inputs, torch.Tensor):
        inputs = (inputs,)
    loss = loss or (lambda output: output.float().sum())
    leaves = [
        (name or type(module).__name__, module)
        for name, module in model.named_modules()
        if not any(module.children())
    ]
    # An output that the next module overwrites has no gradient of its own.
    inplace = [module for _, module in leaves if getattr(module, "inplace", False)]
    trained = model.training
    handles = []
    with _profile.profile(seconds) as p:
        try:
            marks = _Marks(p)
            for module in inplace:
                module.inplace = False
            for name, module in leaves:
                handles += _add_hooks(module, name, marks)
            model.train(train)
            with torch.set_grad_enabled(train):
                for _ in p.steps():
                    output = model(*inputs)
                    if train:
                        model.zero_grad()
                        with p.stage("loss", "loss"):
                            error = loss(output)
                        error.backward()
                        marks.end()
        finally:
            for handle in handles:
                handle.remove()
            for module in inplace:
                module.inplace = True
            model.train(trained)
    return p
