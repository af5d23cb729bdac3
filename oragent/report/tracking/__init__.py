"""Trackers: adapters of the events of a run to TensorBoard, MLflow, Weights & Biases, OpenTelemetry or a file."""
