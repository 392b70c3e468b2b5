"""Child processes that end with their owner, and processes of others, known by pid and start."""

from local.processes.identity import ProcessId, wait_for
from local.processes.owner import Process, Processes, ProcessStartError, Program

__all__ = ["Process", "ProcessId", "ProcessStartError", "Processes", "Program", "wait_for"]
