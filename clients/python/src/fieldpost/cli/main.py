"""The command `fieldpost`."""

import sys

import click

import fieldpost
from fieldpost.cli.account import login, logout, whoami
from fieldpost.cli.doctor import doctor
from fieldpost.cli.forms import forms
from fieldpost.cli.import_command import import_
from fieldpost.cli.listen import listen
from fieldpost.cli.migrate import migrate
from fieldpost.cli.output import CommandError, is_for_people, show_error
from fieldpost.cli.submissions import submissions
from fieldpost.cli.trigger import trigger
from fieldpost.errors import Error


@click.group()
@click.version_option(fieldpost.__version__, prog_name="fieldpost")
def main() -> None:
    """
    Forms of a Fieldpost service, from the command line.

    Keys are never arguments. FIELDPOST_KEY and FIELDPOST_URL name a key and a service, FIELDPOST_PROFILE one of several
    logins. Where no person reads, the output is one JSON document, and errors are the last line of standard error.
    """


for command in (login, logout, whoami, forms, submissions, listen, trigger, migrate, doctor):
    main.add_command(command)


submissions.add_command(import_)


def run() -> None:
    """Run the command, and exit with 0, with 1 for an error, or with 2 for changes."""
    sys.exit(_status())


def _status() -> int:
    try:
        return main.main(standalone_mode=False) or 0
    except click.exceptions.NoArgsIsHelpError as error:
        if is_for_people():
            click.echo(error.format_message())
            return 1
        show_error(CommandError("usage", "Say which command: `fieldpost --help` lists them."))
    except click.ClickException as error:
        show_error(CommandError("usage", error.format_message()))
    except click.Abort:
        show_error(CommandError("usage", "Interrupted."))
    except Error as error:
        show_error(error)
    except BrokenPipeError:
        sys.stderr.close()  # the reader has gone; Python would complain about it at the end
    except OSError as error:
        show_error(CommandError("invalid_file", f"{error.filename or 'A file'}: {error.strerror or error}"))
    return 1
