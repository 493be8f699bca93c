export const USAGE = `Usage: npm run cli -- COMMAND

  project create --name NAME      create a project; prints its id and keys
  project list                    all projects
  project rotate ID [--now]       a new Secret Key for a project; --now: without the 10 s in which the old one still works
  project raw-data on|off ID      allow or forbid exports of raw data
  project set ID --transfer-policy keep|transfer|share
                                  what becomes of a purchase that another user claims
  project set ID --sandbox-access grant|refuse
                                  whether a production user gets access for a day from a purchase of Apple's sandbox (App Review)
  project set ID --refund-preference none|decline|grant_full
                                  what Apple is told when a customer asks for a refund; none: nothing
  import FILE.csv --map MAP
                                  store the rows of a CSV file as events (see "help import")
  rates FILE                      store rates of exchange, - for standard input: a CSV file with date,currency,usd_per_unit, or the
                                  European Central Bank's eurofxref-hist.csv
  analytics rebuild [PROJECT]     compute the facts of figures anew, beside those that are read, compare both and change over; exit code 2:
                                  they differed
  backup DIR                      write the whole installation into a new folder
  restore DIR                     fill an empty installation from such a folder
  set-aside list [--all]          events that automations or integrations could not handle
  set-aside replay EVENT …|--all  handle them again
  screens import FILE.json [--project ID] [--sandbox]
                                  store the screens of a file, as the API shows them, all or none; those with a known id get its fields
  stores status PROJECT           what the stores have told and what hinders it (all commands: "help stores")
  help [import|stores]

The commands use the configuration of the service: DATABASE_URL with APP_SECRET, or DATA_DIR.`

export const STORES_USAGE = `Usage: npm run cli -- stores COMMAND

  status PROJECT                  each store: connected or what is missing, the address to enter, last push and sweep, what is pending, set aside
                                  or not acknowledged, alerts and what to do about them
  status PROJECT --lineage LINEAGE [--sandbox]
                                  everything about one lineage: owner, periods, statements, notifications
  check PROJECT                   asks each store whether it accepts the credentials, permission by permission; exit code 1: something is wrong,
                                  and its line says what to do
  test PROJECT [--sandbox] [--wait SECONDS]
                                  lets Apple post a test notification, and tells where it stopped (60)
  replay PROJECT ID …             reads notifications again, by number or by the store's id
  replay PROJECT --set-aside      all that were set aside
  replay PROJECT --lineage LINEAGE
                                  all of a lineage; nothing is told twice
  transfer PROJECT LINEAGE --to USER [--sandbox]
                                  gives a lineage to a user, whatever the transfer policy says
  import PROJECT STORE FILE.csv --map MAP [OPTION …]
                                  attaches the purchases that the rows of a CSV file point to, as the store tells of them
  backfill PROJECT STORE [--from DATE]
                                  has the store asked for everything that it still knows; the same command goes on where it was broken off

LINEAGE is the row number or the store's own name; "stores status" prints both. STORE is apple, google, stripe or paddle.

Options of import:

  --map MAP        as in "help import"; the fields are user (id or identity) and transaction (transaction, order, purchase token, subscription)
  --create-users   makes a user for each identity that there is none of
  --sandbox        into the sandbox of the project, from the sandbox of the store
  --delimiter C, --batch N (10), --parallel N (4), --rejects PATH, --again
                   as in "help import"

What the store does not know is rejected: nothing is recorded on a file's word. Purchases of others stay theirs. Nothing that is imported starts
an automation. The same command continues an interrupted import. Exit code: 0 all rows are attached, 1 stopped, 2 some rows were rejected.`

export const IMPORT_USAGE = `Usage: PERENNIAL_KEY=… npm run cli -- import FILE.csv --map MAP [OPTION …]

  PERENNIAL_KEY    Secret Key of the project (test_sk_… for its sandbox); or PERENNIAL_KEY_FILE, the file with it

  --map MAP        a JSON file of {"field": "template", …}, or one field=template; may be given again, the last one counts
  --key KEY        the key as an argument, which every user of this machine can read while the import runs
  --url URL        where the service answers (http://localhost:$PORT)
  --delimiter C    between the values of a row (,); \\t for a tab
  --batch N        rows per request, 1 to 1000 (1000)
  --parallel N     requests at once, 1 to 16 (1); above 1 the batches may be stored in another order than the file's
  --trigger        let events younger than 72 hours start automations, end waits and go to integrations; says before it begins how many of them
                   each would get, and asks on a terminal. Without it all rows are history: stored and counted, and nobody acts on them
  --rejects PATH   where rejected rows are written (DATA_DIR/imports)
  --again          post everything again, although the import was finished

Fields are those of an item of POST /v4/events; a dot leads into an object: device.model, transaction.transaction_id, properties.x.
event_id, event_name and happened_at are required.

Templates: {column} is the value of a column, {#} the number of the row (from 1), {{ and }} are braces; other text is copied.
A template of columns only leaves the field out when all of them are empty. Values are strings; for properties a map file may also hold a
number, true, false or {"template": "{q}", "type": "number"} ("number", "boolean" or "string").

The same command continues an interrupted import where it stopped; event_id makes repeats harmless.
Exit code: 0 all rows are stored, 1 stopped, 2 some rows were rejected.`
