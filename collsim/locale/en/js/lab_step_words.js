// English words of lab_step.

export default {
  label: "a measured step of training below its prediction",
  predicted: "Predicted",
  measured: "Measured",
  both: (predicted, measured) => `Predicted ${predicted}, measured ${measured}: computing above, messages below.`,
  waits: "Nothing is measured yet: Run starts the processes.",
  forward: "forward pass: a sleep",
  bucket: {
    backward: "backward pass, in the colour of its bucket: a sleep",
    sent: "a bucket's allreduce, really sent",
  },
  layer: {
    backward: "a pass, in the colour of its layer: a sleep",
    sent: "a layer gathered or reduced, really sent",
  },
  microbatch: {
    backward: "a pass, in the colour of its microbatch: a sleep",
    sent: "activations or gradients of a microbatch, really sent",
  },
  sizes: "Time of the step by bucket size",
  curve: "below: predicted; dots are measured (predicted → measured)",
};
