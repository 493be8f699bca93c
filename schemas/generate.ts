// `npm run generate`: the committed files of schemas/generated/ and of the TypeScript client from the YAML files. Works offline; the same
// input gives the same bytes.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bundle } from './generate/bundle.ts'
import { client } from './generate/client.ts'
import { facts } from './generate/facts.ts'
import { table } from './generate/table.ts'
import { declarations, note, types } from './generate/types.ts'
import { validators } from './generate/validators.ts'

export const generate = async (folder: string) => {
  const document = bundle(import.meta.dirname)
  const operations = facts(document)
  const { names, judged, exported, code } = validators(document, operations)
  const files = {
    'openapi.json': `${JSON.stringify(document, null, 2)}\n`,
    'api.ts': await types(document),
    'validators.js': note + code,
    'validators.d.ts': declarations(exported, judged),
    'operations.ts': table(operations, names, judged),
  }
  mkdirSync(folder, { recursive: true })
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
}

export const generateClient = (folder: string) => client(bundle(import.meta.dirname), folder)

if (import.meta.main) {
  await generate(join(import.meta.dirname, 'generated'))
  await generateClient(join(import.meta.dirname, '../clients/typescript/src/generated'))
}
