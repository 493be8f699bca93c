// Compiles the schemas of all operations into one module of validators that runs without AJV.
import { join } from 'node:path'
import { Ajv, type CodeKeywordDefinition } from 'ajv'
import { _ } from 'ajv/dist/compile/codegen/index.js'
import standalone from 'ajv/dist/standalone/index.js'
import { buildSync } from 'esbuild'
import { formats } from '../formats.ts'
import type { OperationFacts } from './facts.ts'
import { idOf, prepare, type Side } from './prepare.ts'
import { type Document, follow, type Schema } from './schema.ts'

/** Names of the exported validators of one operation; those of its answers by status. */
export type ValidatorNames = { path: string | null; query: string; body: string | null; answers: Record<string, string> }

const componentOf = (schema: Schema) => schema.$ref?.slice(schema.$ref.lastIndexOf('/') + 1)

// Faulty items of a batch must not fail the batch: the validator of the body accepts any object, and each item has its own validator.
const withoutItems = (document: Document, body: Schema) => {
  const items: string[] = []
  const resolved = follow(document, body)
  const properties = Object.entries(resolved.properties ?? {}).map(([name, property]) => {
    const component = property.items && componentOf(property.items)
    if (!component) return [name, property]
    items.push(component)
    return [name, { ...property, items: { type: 'object' } }]
  })
  return { body: { ...resolved, properties: Object.fromEntries(properties) }, items }
}

// The errors of these two keywords contain what the caller needs: AJV's own contain a regular expression, or the tag without the known ones.
const replaceErrors = (ajv: Ajv) => {
  const replace = (keyword: string, params: NonNullable<CodeKeywordDefinition['error']>['params']) => {
    const definition = ajv.getKeyword(keyword) as CodeKeywordDefinition
    ajv.removeKeyword(keyword).addKeyword({ ...definition, error: { message: '', params: params! } })
  }
  ajv.addVocabulary(['x-hint', 'x-tags'])
  replace('pattern', ({ parentSchema }) => _`{hint: ${parentSchema!['x-hint']}}`)
  replace(
    'discriminator',
    ({ params, parentSchema }) => _`{tag: ${params.tagName}, tagValue: ${params.tag}, tags: ${parentSchema!['x-tags']}}`,
  )
}

/** `formatsPath`: the path from the generated module to `formats.ts`. */
export const validators = (document: Document, operations: OperationFacts[], formatsPath: string) => {
  const ajv = new Ajv({
    strict: true,
    allErrors: true,
    useDefaults: true,
    allowUnionTypes: true,
    // Only the branch that the type names is validated. Otherwise a choice of twelve branches would report the errors of all twelve.
    discriminator: true,
    messages: false,
    formats,
    code: { source: true, esm: true, lines: true, formats: _`formats` },
  })
  replaceErrors(ajv)
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

  const separateItems: string[] = []
  const names: Record<string, ValidatorNames> = {}
  for (const { id, body, query, schemas } of operations) {
    let bodySchema = schemas.body
    if (bodySchema && body?.itemsValidatedSeparately) {
      const parts = withoutItems(document, bodySchema)
      bodySchema = parts.body
      separateItems.push(...parts.items)
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
  for (const name of separateItems) component('input', name, `validate${name}`)
  component('answer', 'Error', 'answerError')
  if (operations.some(({ dryRun }) => dryRun !== null)) component('answer', 'DryRun', 'answerDryRun')
  return { names, separateItems, exported: Object.keys(ids), code: bundled(standalone.default(ajv, ids), formatsPath) }
}

// AJV's ESM output calls `require` for its run-time functions (code points, equality). esbuild bundles these functions into the module.
const bundled = (source: string, formatsPath: string) => {
  const { outputFiles } = buildSync({
    stdin: { contents: source, resolveDir: import.meta.dirname, loader: 'js' },
    // Comments in the output name files relative to this folder. The output must not depend on the caller's folder.
    absWorkingDir: join(import.meta.dirname, '../..'),
    bundle: true,
    write: false,
    format: 'esm',
    // A character beyond Latin-1 makes V8 keep the whole source in two bytes a character.
    charset: 'ascii',
    legalComments: 'none',
  })
  return `import { formats } from '${formatsPath}'\n${outputFiles[0]!.text}`
}
