import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** A source of the product, by its path from the root. `imports`: sources, by theirs. */
export type Source = { file: string; room: string; text: string; imports: string[]; packages: string[] }

export const roomOf = (file: string) => file.split('/')[0]!
export const withoutComments = (text: string) => text.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '')

function sourceOf(file: string): Source {
  const text = readFileSync(join(ROOT, file), 'utf8')
  const specifiers = [...withoutComments(text).matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map(match => match[1]!)
  const imports = specifiers.filter(path => path.startsWith('.')).map(path => relative(ROOT, resolve(ROOT, dirname(file), path)))
  return { file, room: roomOf(file), text, imports, packages: specifiers.filter(path => !path.startsWith('.')) }
}

/** Every source of a room but those that are generated. */
export const sourcesOf = (room: string): Source[] =>
  readdirSync(join(ROOT, room), { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.ts') && !name.includes('generated/'))
    .map(name => sourceOf(join(room, name)))
