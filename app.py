"""Serve trained runs in the browser: python app.py [--run RUN]… [--host HOST] [--port PORT] …

What it does is in genius/app.py; an installed package does the same by the command `genius`.
"""

from genius.app import main

if __name__ == "__main__":
    main()
