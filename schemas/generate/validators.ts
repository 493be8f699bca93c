// The schemas of all operations as one module of compiled validators, without AJV at run time.
import { join } from 'node:path'
import { Ajv } from 'ajv'
import { _ } from 'ajv/dist/compile/codegen/index.js'
import standalone from 'ajv/dist/standalone/index.js'
import { buildSync } from 'esbuild'
import { formats } from '../formats.ts'
import type { Facts } from './facts.ts'
import { idOf, prepare, type Side } from './prepare.ts'
import { type Document, follow, type Schema } from './schema.ts'

/** Names of the exported validators of one operation; answers by status. */
export type Names = { path: string | null; query: string; body: string | null; answers: Record<string, string> }

const componentOf = (schema: Schema) => schema.$ref?.slice(schema.$ref.lastIndexOf('/') + 1)

// Items that are judged alone must not fail the batch: the body's validator sees objects, each item has a validator of its own.
const apart = (document: Document, body: Schema) => {
  const items: string[] = []
  const whole = follow(document, body)
  const properties = Object.entries(whole.properties ?? {}).map(([name, property]) => {
    const component = property.items && componentOf(property.items)
    if (!component) return [name, property]
    items.push(component)
    return [name, { ...property, items: { type: 'object' } }]
  })
  return { body: { ...whole, properties: Object.fromEntries(properties) }, items }
}

export const validators = (document: Document, operations: Facts[]) => {
  const ajv = new Ajv({
    strict: true,
    allErrors: true,
    useDefaults: true,
    allowUnionTypes: true,
    // Of a choice by type the one branch is looked at: twelve branches would fail with the errors of all.
    discriminator: true,
    messages: false,
    formats,
    code: { source: true, esm: true, lines: true, formats: _`formats` },
  })
  for (const [name, schema] of Object.entries(document.components.schemas))
    for (const side of ['input', 'answer'] as const) ajv.addSchema({ ...prepare(schema, side), $id: idOf(side, name) })

  const ids: Record<string, string> = {}
  const bySchema = new Map<string, string>()
  const component = (side: Side, name: string, exported: string) => {
    ids[exported] = idOf(side, name)
    return exported
  }
  // Equal schemas share one function: most operations have the same query, path and errors.
  const compiled = (side: Side, schema: Schema, exported: string) => {
    const key = side + JSON.stringify(schema)
    const known = bySchema.get(key)
    if (known) return known
    bySchema.set(key, exported)
    ajv.addSchema({ ...prepare(schema, side), $id: `${side}:${exported}` })
    return component(side, exported, exported)
  }

  const judged: string[] = []
  const names: Record<string, Names> = {}
  for (const { id, body, query, schemas } of operations) {
    let bodySchema = schemas.body
    if (bodySchema && body?.itemsJudgedAlone) {
      const parts = apart(document, bodySchema)
      bodySchema = parts.body
      judged.push(...parts.items)
    }
    const answers = Object.entries(schemas.answers).map(([status, schema]) => {
      const name = componentOf(schema)
      return [status, name ? component('answer', name, `answer${name}`) : compiled('answer', schema, `${id}Answer${status}`)]
    })
    names[id] = {
      path: schemas.path && compiled('input', schemas.path, `${id}Path`),
      query: compiled('input', schemas.query, query.length > 0 ? `${id}Query` : 'noQuery'),
      body: bodySchema && compiled('input', bodySchema, `${id}Body`),
      answers: Object.fromEntries(answers),
    }
  }
  for (const name of judged) component('input', name, `validate${name}`)
  component('answer', 'Error', 'answerError')
  return { names, judged, exported: Object.keys(ids), code: bundled(standalone.default(ajv, ids)) }
}

// AJV's ESM output still says `require` for its run-time functions (code points, equality). esbuild puts them in.
const bundled = (source: string) => {
  const { outputFiles } = buildSync({
    stdin: { contents: source, resolveDir: import.meta.dirname, loader: 'js' },
    // Comments in the output name files relative to it; the caller's folder must not show.
    absWorkingDir: join(import.meta.dirname, '../..'),
    bundle: true,
    write: false,
    format: 'esm',
    charset: 'utf8',
    legalComments: 'none',
  })
  return `import { formats } from '../formats.ts'\n${outputFiles[0]!.text}`
}
