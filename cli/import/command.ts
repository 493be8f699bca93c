import { readConfig } from '../../app/config.ts'
import type { CliCommand } from '../command.ts'
import { confirmEffects } from './effects.ts'
import { itemFields } from './fields.ts'
import { importFile } from './file.ts'
import type { ToItem } from './item.ts'
import { importOptions } from './options.ts'
import { postBatch } from './post.ts'
import type { Row } from './rows.ts'
import { sender } from './send.ts'

/** Stores the rows of a CSV file as events, through the API. */
export const importCsv: CliCommand = async (args, context) => {
  const options = await importOptions(args, context.env)
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
