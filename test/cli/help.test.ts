import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { root } from '../../cli/commands.ts'
import { actionsOf } from '../../cli/definition.ts'
import { referencePage } from '../../cli/page.ts'
import { commandOf, execute, PROGRAM } from '../../cli/program.ts'
import { version } from '../../schemas/version.ts'
import { call } from './call.ts'

const all = actionsOf(root)
const run = (...args: string[]) => call(commandOf(root), args, {})

describe('help', () => {
  test.each(
    all.map(({ words, action }) => [words.join(' '), action] as const),
  )('%s --help has its own options and an example', async (words, action) => {
    const result = await run(...words.split(' '), '--help')
    expect(result).toMatchObject({ code: 0, notes: '' })
    expect(result.out).toContain(`Usage: ${PROGRAM} ${words}`)
    for (const name of [...Object.keys(action.options ?? {}), 'help']) expect(result.out).toMatch(new RegExp(`^  (-h, )?--${name}\\b`, 'm'))
    expect(result.out).toContain(`Examples:\n  ${PROGRAM} ${words}`)
    expect(result.out).toContain('Exit code: 0')
    expect(await run('help', ...words.split(' '))).toEqual(result)
  })

  test('of a group and of the program lists what can be done below', async () => {
    const group = await run('stores', '--help')
    expect(group.out).toContain('transfer PROJECT LINEAGE [options]')
    expect(group.out).not.toContain('rotate')
    const program = await run('help')
    for (const { words } of all) expect(program.out).toContain(`\n  ${words.join(' ')} `)
  })

  test('is not given for a command that does not exist', async () => {
    for (const args of [
      ['help', 'bogus'],
      ['bogus', '--help'],
      ['stores', 'bogus', '--help'],
    ])
      expect(await run(...args)).toMatchObject({ code: 1, out: '', notes: expect.stringMatching(/^there is no command ".*bogus"/) })
  })
})

test.each([
  [['projct'], 'there is no command "projct", did you mean project?'],
  [['stores', 'stats'], 'there is no command "stores stats", did you mean status?'],
  [['project', 'rotate', '--nwo'], "unknown option '--nwo', did you mean --now?"],
  [['project', 'list', '--xyzzy'], "unknown option '--xyzzy'"],
])('%j is refused with a suggestion, if there is one', async (args, notes) => {
  expect(await run(...args)).toEqual({ code: 1, out: '', notes })
})

test('--version prints the version of the product', async () => {
  const printed: string[] = []
  const context = {
    env: {},
    signal: AbortSignal.abort(),
    stdin: () => process.stdin,
    out: (line: string) => printed.push(line),
    note: () => {},
  }
  expect(await execute(root, ['--version'], context, version())).toBe(0)
  expect(printed).toEqual([version()])
  expect(version()).toMatch(/^\d+\.\d+\.\d+/)
})

test('docs/cli.md is that of the definitions', () => {
  const page = readFileSync(new URL('../../docs/cli.md', import.meta.url), 'utf8')
  expect(page).toBe(referencePage(root))
  for (const { words, action } of all) {
    expect(page).toContain(`\n## ${words.join(' ')}\n`)
    for (const name of Object.keys(action.options ?? {})) expect(page).toContain(`--${name}`)
  }
})

describe('completion', () => {
  test('of bash offers commands, options and values where they belong', async () => {
    const { out: script } = await run('completion', 'bash')
    const complete = async (...words: string[]) => {
      const line = `${script}\nCOMP_WORDS=(perennial "$@"); COMP_CWORD=$#; _perennial; printf '%s\\n' "\${COMPREPLY[@]}"`
      const { stdout } = await promisify(execFile)('bash', ['--norc', '-c', line, 'bash', ...words])
      return stdout.trim().split('\n')
    }
    expect(await complete('pro')).toEqual(['project'])
    expect(await complete('project', 'r')).toEqual(['rotate', 'raw-data'])
    expect(await complete('project', 'rotate', '1', '--n')).toEqual(['--now'])
    expect(await complete('project', 'set', '1', '--transfer-policy', '')).toEqual(['keep', 'transfer', 'share'])
    expect(await complete('stores', 'backfill', '1', 'a')).toEqual(['apple'])
    expect(await complete('import', '--map', '')).toEqual([''])
  })

  test.each(['zsh', 'fish'])('of %s has every command and option', async shell => {
    const { code, out } = await run('completion', shell)
    expect(code).toBe(0)
    for (const { words, action } of all) {
      expect(out).toContain(`' ${words.join(' ')}'`)
      for (const name of Object.keys(action.options ?? {})) expect(out).toContain(shell === 'fish' ? ` -l ${name} ` : `--${name}`)
    }
  })

  test('of another shell is refused', async () => {
    expect(await run('completion', 'tcsh')).toMatchObject({ code: 1, notes: 'which shell? bash, zsh or fish' })
  })
})
