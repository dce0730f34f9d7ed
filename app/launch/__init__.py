"""Starting and stopping: embedded servers, and the web, worker and simulator processes. Standard library only
up to `keeper`, so that the process that guards the servers stays small."""
