"""The Lambda service of one machine: function processes and event source mappings."""
