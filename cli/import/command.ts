import { readConfig } from '../../app/config.ts'
import type { CommandContext } from '../command.ts'
import { action, type CommandInput } from '../definition.ts'
import { commandOf } from '../program.ts'
import { confirmEffects } from './effects.ts'
import { itemFields } from './fields.ts'
import { importFile } from './file.ts'
import type { ToItem } from './item.ts'
import { IMPORT_OPTIONS, importOptions } from './options.ts'
import { postBatch } from './post.ts'
import type { Row } from './rows.ts'
import { sender } from './send.ts'

/** Stores the rows of a CSV file as events, through the API. */
async function importRows(input: CommandInput<typeof IMPORT_OPTIONS>, context: CommandContext): Promise<number> {
  const options = await importOptions(input, context.env)
  const config = readConfig(context.env)
  const url = options.url ?? `http://localhost:${config.port || 8080}`
  const { key, trigger } = options
  const target = {
    fields: await itemFields(),
    url,
    key,
    done: 'stored',
    ...(trigger && { before: (rows: AsyncIterable<Row>, item: ToItem) => confirmEffects(rows, item, { url, key }, context) }),
    post: (batch: Parameters<typeof postBatch>[1], signal: AbortSignal, onWait: (line: string) => void) =>
      postBatch(sender({ url, key, signal, onWait }), batch, trigger),
  }
  return importFile(options, target, config.dataDir, context)
}

const DETAILS = `PERENNIAL_KEY is a Secret Key of the project (test_sk_… for its sandbox) or a named key with the scope events:write;\nor PERENNIAL_KEY_FILE, the file with it.

Fields are those of an item of POST /v4/events; a dot leads into an object: device.model, transaction.transaction_id, properties.x.
event_id, event_name and happened_at are required. History moves the begin of its customer back; created_at says when that was before the first event.

Templates: {column} is the value of a column, {#} the number of the row (from 1), {{ and }} are braces; other text is copied.
A template of columns only leaves the field out when all of them are empty. Values are strings; for properties a map file may also hold a
number, true, false or {"template": "{q}", "type": "number"} ("number", "boolean" or "string").

The same command continues an interrupted import where it stopped; event_id makes repeats harmless.`

export const importAction = action({
  name: 'import',
  summary: 'store the rows of a CSV file as events',
  arguments: [{ name: 'FILE.csv', says: 'its first line names the columns' }],
  options: IMPORT_OPTIONS,
  details: DETAILS,
  exits: '0 all rows are stored, 1 stopped, 2 some rows were rejected',
  examples: ['import examples/cdnow.csv --map examples/cdnow.json'],
  run: importRows,
})

export const importCsv = commandOf(importAction)
