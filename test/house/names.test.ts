import { readdirSync, readFileSync } from 'node:fs'
import ts from 'typescript'
import { expect, test } from 'vitest'

const ROOT = new URL('../../', import.meta.url)

function exportedNames(file: string): string[] {
  const source = ts.createSourceFile(file, readFileSync(new URL(file, ROOT), 'utf8'), ts.ScriptTarget.Latest)
  return source.statements.flatMap(statement => {
    const isExported = ts.canHaveModifiers(statement) && statement.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)
    if (!isExported) return []
    if (ts.isVariableStatement(statement))
      return statement.declarationList.declarations.flatMap(({ name }) => (ts.isIdentifier(name) ? [name.text] : []))
    const { name } = statement as { name?: ts.Identifier }
    return name ? [name.text] : []
  })
}

test('no exported name stands for two things', () => {
  const files = ['api', 'app', 'cli', 'domain', 'schemas', 'store', 'workers', 'workflows'].flatMap(room =>
    readdirSync(new URL(room, ROOT), { recursive: true, encoding: 'utf8' })
      .filter(name => name.endsWith('.ts') && !name.includes('generated/'))
      .map(name => `${room}/${name}`),
  )
  const filesOf = new Map<string, Set<string>>()
  for (const file of files) for (const name of exportedNames(file)) filesOf.set(name, (filesOf.get(name) ?? new Set()).add(file))
  expect(filesOf.size).toBeGreaterThan(500)
  expect([...filesOf].filter(([, where]) => where.size > 1).map(([name, where]) => `${name}: ${[...where].join(', ')}`)).toEqual([])
})
