"""The server around the pages: where it listens, whom it admits, and the limits of each client.

By default it listens on this computer only. `collsim app --class` opens it to a class: then a client enters the join
code before anything of the app runs (`access_control`), and what one client and all clients together may use is limited
(`clients`).
"""
