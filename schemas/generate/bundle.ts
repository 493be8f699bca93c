// Joins the files, one per tag, into one document. References between files become internal, so a component's name is unique over all files.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import type { Document, PathItem } from './schema.ts'

type File = { paths?: Record<string, PathItem>; components?: Record<string, Record<string, unknown>> }

const internal = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(internal)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, child]) => [
      key,
      key === '$ref' && typeof child === 'string' ? child.slice(child.indexOf('#')) : internal(child),
    ]),
  )
}

/** Reads `openapi.yaml` and the files beside it. Throws when a tag file has a path that the root does not name, or the reverse. */
export const bundle = (folder: string): Document => {
  const read = (name: string) => internal(parse(readFileSync(join(folder, name), 'utf8')))
  const root = read('openapi.yaml') as Document
  const paths = new Map<string, PathItem>()
  const components: Record<string, Record<string, unknown>> = { ...root.components }
  const names = readdirSync(folder).filter(name => name.endsWith('.yaml') && name !== 'openapi.yaml')
  for (const name of names.sort()) {
    const file = read(name) as File
    for (const [path, item] of Object.entries(file.paths ?? {})) paths.set(path, item)
    for (const [kind, members] of Object.entries(file.components ?? {})) {
      components[kind] ??= {}
      for (const [member, value] of Object.entries(members)) {
        if (member in components[kind]) throw new Error(`${name}: ${kind}/${member} has two definitions`)
        components[kind][member] = value
      }
    }
  }
  const unnamed = [...paths.keys()].filter(path => !(path in root.paths))
  if (unnamed.length > 0) throw new Error(`openapi.yaml does not name ${unnamed.join(', ')}`)
  const inRootOrder = Object.keys(root.paths).map(path => {
    const item = paths.get(path)
    if (!item) throw new Error(`no file describes ${path}`)
    return [path, item]
  })
  return { ...root, paths: Object.fromEntries(inRootOrder), components: components as Document['components'] }
}
