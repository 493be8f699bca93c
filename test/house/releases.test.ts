import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { ROOT } from './sources.ts'

const read = (folder: string, file: string) => readFileSync(join(folder, file), 'utf8')

test('the version of the package is the newest release, in the changelog and in the list of releases', () => {
  const { version } = JSON.parse(read(ROOT, 'package.json'))
  expect(JSON.parse(read(ROOT, 'package-lock.json'))).toMatchObject({ version, packages: { '': { version } } })
  const headings = [...read(ROOT, 'CHANGELOG.md').matchAll(/^## \[(.+?)\](?: - \d{4}-\d{2}-\d{2})?$/gm)].map(([, name]) => name)
  expect(headings.slice(0, 2)).toEqual(['Unreleased', version])
  const releases: { version: string; commit: string }[] = JSON.parse(read(ROOT, 'releases.json'))
  // Between its two commits a release is not in the list yet.
  expect(headings.slice(1).reverse()).toEqual(expect.arrayContaining(releases.map(release => release.version)))
  expect(releases.every(({ commit }) => /^[0-9a-f]{40}$/.test(commit))).toBe(true)
})

/** A cache of what is compiled would be made in the folder. */
const { NODE_COMPILE_CACHE: _, ...OWN } = process.env

/** What names the version that is installed. */
const INSTALLED = {
  'deploy/helm/perennial/Chart.yaml': 'name: perennial\nversion: VERSION\nappVersion: VERSION\nkubeVersion: ">=1.25.0-0"\n',
  'deploy/.env.example': 'PERENNIAL_HOST=a.example.org\nPERENNIAL_IMAGE=perennial:VERSION\n',
  'docs/installing.md': 'tar -xzf perennial-VERSION-linux-x64.tar.gz\ndocker run perennial-all-in-one:VERSION\n',
}

/** A repository with a release 0.1.0 and the changelog; what `release:tag` prints there, and its exit code. */
function repository(unreleased: string) {
  const folder = mkdtempSync(join(tmpdir(), 'perennial-release-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=A', '-c', 'user.email=a@example.org', ...args], {
      cwd: folder,
      encoding: 'utf8',
      stdio: 'pipe',
    }).trim()
  git('init', '--quiet')
  for (const [key, value] of ['user.name=A', 'user.email=a@example.org', 'commit.gpgsign=false', 'tag.gpgsign=false'].map(one =>
    one.split('='),
  ))
    git('config', key!, value!)
  cpSync(join(ROOT, '.ci/release-tag.mjs'), join(folder, 'release-tag.mjs'))
  const version = { name: 'a', version: '0.1.0' }
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(version, null, 2)}\n`)
  const lock = { ...version, packages: { '': version, 'node_modules/b': { version: '0.1.0' } } }
  writeFileSync(join(folder, 'package-lock.json'), `${JSON.stringify(lock, null, 2)}\n`)
  for (const [file, text] of Object.entries(INSTALLED)) {
    mkdirSync(join(folder, dirname(file)), { recursive: true })
    writeFileSync(join(folder, file), text.replaceAll('VERSION', '0.1.0'))
  }
  writeFileSync(join(folder, 'releases.json'), `[\n  { "version": "0.1.0", "commit": "${'a'.repeat(40)}" }\n]\n`)
  writeFileSync(join(folder, 'CHANGELOG.md'), `# Changelog\n\n## [Unreleased]\n\n${unreleased}\n\n## [0.1.0] - 2026-11-29\n\n- First.\n`)
  git('add', '--all')
  git('commit', '--quiet', '--message', 'first')
  const tag = (...args: string[]) => {
    try {
      return execFileSync(process.execPath, ['release-tag.mjs', ...args], { cwd: folder, encoding: 'utf8', stdio: 'pipe', env: OWN })
    } catch (error) {
      return (error as { stderr: string }).stderr
    }
  }
  return { folder, git, tag }
}

test('release:tag makes the version of the changelog, commits, tags, and notes the commit', () => {
  const { folder, git, tag } = repository('### Added\n\n- Something.')
  expect(tag('0.1.1')).toBe('v0.1.1 is tagged. Publish it: git push --follow-tags\n')
  expect(git('log', '--format=%s')).toBe('release: note the commit of 0.1.1\nrelease: 0.1.1\nfirst')
  expect(git('status', '--porcelain')).toBe('')
  const day = new Date().toISOString().slice(0, 4)
  expect(read(folder, 'CHANGELOG.md')).toMatch(
    new RegExp(
      `^# Changelog\n\n## \\[Unreleased\\]\n\n## \\[0\\.1\\.1\\] - ${day}-..-..\n\n### Added\n\n- Something\\.\n\n## \\[0\\.1\\.0\\]`,
    ),
  )
  expect(JSON.parse(read(folder, 'package.json')).version).toBe('0.1.1')
  expect(JSON.parse(read(folder, 'package-lock.json'))).toMatchObject({
    version: '0.1.1',
    packages: { '': { version: '0.1.1' }, 'node_modules/b': { version: '0.1.0' } },
  })
  const commit = git('rev-parse', 'v0.1.1^{commit}')
  expect(JSON.parse(read(folder, 'releases.json'))).toEqual([
    { version: '0.1.0', commit: 'a'.repeat(40) },
    { version: '0.1.1', commit },
  ])
  expect(git('show', `${commit}:package.json`)).toContain('"0.1.1"')
  for (const [file, text] of Object.entries(INSTALLED))
    expect(git('show', `${commit}:${file}`)).toBe(text.replaceAll('VERSION', '0.1.1').trim())
})

test('release:tag refuses in one line, and changes nothing', () => {
  const { folder, git, tag } = repository('### Removed\n\n- Something.')
  expect(tag()).toBe('release:tag: which version? npm run release:tag -- X.Y.Z\n')
  expect(tag('0.1.0')).toBe('release:tag: 0.1.0 is not later than 0.1.0\n')
  expect(tag('0.1.1')).toMatch(/^release:tag: CHANGELOG\.md removes or breaks something: 0\.1\.1 is too small a step from 0\.1\.0 .*\n$/)
  writeFileSync(join(folder, 'new'), '')
  expect(tag('0.2.0')).toMatch(/^release:tag: the working tree is not clean/)
  rmSync(join(folder, 'new'))
  expect([git('log', '--format=%s'), git('tag'), git('status', '--porcelain')]).toEqual(['first', '', ''])
  expect(repository('').tag('0.2.0')).toMatch(/^release:tag: CHANGELOG\.md has no entry/)
})
