import gc

from django.apps import AppConfig


class DashboardConfig(AppConfig):
    name = "dashboard"

    def ready(self) -> None:
        """Register the clean-up of accounts, and the problems that operators see. All modules are loaded now."""
        from config.clean_up import register_clean_up
        from config.health import PROBLEMS
        from dashboard.accounts.session_list import purge_sessions
        from dashboard.operators import problems

        register_clean_up(purge_sessions)
        PROBLEMS.register(problems.problems_of_database, problems.problems_of_roles, problems.problems_of_attempts)
        PROBLEMS.register(problems.problems_of_files)  # the slowest one, if its service hangs
        gc.freeze()  # modules stay: no collection needs to search them, and forks share their memory
        gc.enable()  # manage.py turned it off
