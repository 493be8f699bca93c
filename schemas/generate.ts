// `npm run generate` writes schemas/generated/ (of v4; below it, of v3, of mobile SDKs and of the console) and the generated part of the TypeScript client from the YAML files. All of
// it is committed. It works offline, and the same input gives the same bytes.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bundle } from './generate/bundle.ts'
import { client } from './generate/client.ts'
import { withDryRunAnswers, withDryRuns } from './generate/dry-run.ts'
import { operationFacts } from './generate/facts.ts'
import type { Document } from './generate/schema.ts'
import { withScopes } from './generate/scopes.ts'
import { operationTable } from './generate/table.ts'
import { describedTools } from './generate/tools.ts'
import { declarations, generatedNote, types } from './generate/types.ts'
import { validators } from './generate/validators.ts'

/** `depth`: how many folders `folder` lies below `schemas/`. */
const generateFrom = async (document: Document, folder: string, depth: number) => {
  const operations = operationFacts(document)
  const { names, separateItems, exported, code } = validators(document, operations, `${'../'.repeat(depth)}formats.ts`)
  const files = {
    'openapi.json': `${JSON.stringify(withDryRunAnswers(document), null, 2)}\n`,
    'api.ts': await types(document),
    'validators.js': generatedNote + code,
    'validators.d.ts': declarations(exported, separateItems),
    'operations.ts': operationTable(operations, names, separateItems),
  }
  mkdirSync(folder, { recursive: true })
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
}

export const generate = async (folder: string) => {
  const v4 = withScopes(withDryRuns(bundle(import.meta.dirname)))
  await generateFrom(v4, folder, 1)
  const tools = describedTools(v4, operationFacts(v4)).map(tool => JSON.stringify(tool))
  writeFileSync(join(folder, 'tools.json'), `[\n${tools.join(',\n')}\n]\n`)
  for (const protocol of ['v3', 'sdk', 'console'])
    await generateFrom(bundle(join(import.meta.dirname, protocol)), join(folder, protocol), 2)
}

export const generateClient = (folder: string) => client(withDryRuns(bundle(import.meta.dirname)), folder)

if (import.meta.main) {
  await generate(join(import.meta.dirname, 'generated'))
  await generateClient(join(import.meta.dirname, '../clients/typescript/src/generated'))
}
