// npm run release:tag -- X.Y.Z: what is under "Unreleased" in CHANGELOG.md becomes version X.Y.Z, committed and tagged. A second commit notes the
// commit of the release in releases.json, where the test of upgrades finds it in a clone without tags. Nothing is pushed.
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'

const PART = /^## \[Unreleased\]\n([\s\S]*?)(?=^## \[|(?![\s\S]))/m
/** What names the version that is installed, where it is not package.json: the chart and its image, the image of Compose, the guide. */
const INSTALLED = [
  ['deploy/helm/perennial/Chart.yaml', /^((?:version|appVersion): )\d+\.\d+\.\d+$/gm],
  ['deploy/.env.example', /^(PERENNIAL_IMAGE=perennial:)\d+\.\d+\.\d+$/gm],
  ['docs/installing.md', /(perennial(?:-all-in-one)?[:-])\d+\.\d+\.\d+/g],
]
const parts = version => version.split('.').map(Number)

/** One line for whoever releases. */
class Refused extends Error {}

const isLater = (a, b) => {
  const [left, right] = [parts(a), parts(b)]
  const n = left.findIndex((part, i) => part !== right[i])
  return n >= 0 && left[n] > right[n]
}

/** Whether the step from one version to the next may take something away: the first part grows, or before 1.0.0 the second. */
const mayBreak = (former, next) => {
  const [a, b] = [parts(former), parts(next)]
  return b[0] > a[0] || (a[0] === 0 && b[1] > a[1])
}

/** The changelog with the entries of "Unreleased" under the version. */
function released(changelog, former, next, day) {
  const entries = PART.exec(changelog)?.[1]?.trim()
  if (entries === undefined) throw new Refused('CHANGELOG.md has no "## [Unreleased]"')
  if (!/^- /m.test(entries)) throw new Refused('CHANGELOG.md has no entry under "## [Unreleased]": say what has changed')
  if (/^### Removed$|\*\*Breaking\b/m.test(entries) && !mayBreak(former, next))
    throw new Refused(`CHANGELOG.md removes or breaks something: ${next} is too small a step from ${former} (docs/upgrading.md)`)
  return changelog.replace(PART, () => `## [Unreleased]\n\n## [${next}] - ${day}\n\n${entries}\n\n`)
}

const withVersion = (text, next, depth) => {
  let left = depth
  return text.replaceAll(/^( {2}| {6})"version": "[^"]+"/gm, (line, indent) => (left-- > 0 ? `${indent}"version": "${next}"` : line))
}

function main(next) {
  if (!/^\d+\.\d+\.\d+$/.test(next ?? '')) throw new Refused('which version? npm run release:tag -- X.Y.Z')
  const git = (...args) => execFileSync('git', args, { encoding: 'utf8' }).trim()
  const former = JSON.parse(readFileSync('package.json', 'utf8')).version
  if (!isLater(next, former)) throw new Refused(`${next} is not later than ${former}`)
  if (git('status', '--porcelain') !== '') throw new Refused('the working tree is not clean: commit or remove what "git status" shows')
  if (git('tag', '--list', `v${next}`) !== '') throw new Refused(`there is a tag v${next} already`)
  const changelog = released(readFileSync('CHANGELOG.md', 'utf8'), former, next, new Date().toISOString().slice(0, 10))

  writeFileSync('CHANGELOG.md', changelog)
  writeFileSync('package.json', withVersion(readFileSync('package.json', 'utf8'), next, 1))
  // The first two of the lock file are those of the product.
  writeFileSync('package-lock.json', withVersion(readFileSync('package-lock.json', 'utf8'), next, 2))
  for (const [file, form] of INSTALLED)
    writeFileSync(
      file,
      readFileSync(file, 'utf8').replaceAll(form, (_, before) => before + next),
    )
  git('commit', '--all', '--message', `release: ${next}`)
  git('tag', '--annotate', `v${next}`, '--message', `Perennial ${next}`)

  const releases = [...JSON.parse(readFileSync('releases.json', 'utf8')), { version: next, commit: git('rev-parse', 'HEAD') }]
  writeFileSync(
    'releases.json',
    `[\n${releases
      .map(
        one =>
          `  ${JSON.stringify(one)
            .replaceAll(/([{:,])"/g, '$1 "')
            .replace('}', ' }')}`,
      )
      .join(',\n')}\n]\n`,
  )
  git('commit', '--all', '--message', `release: note the commit of ${next}`)
  console.log(`v${next} is tagged. Publish it: git push --follow-tags`)
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  try {
    main(process.argv[2])
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    console.error(`release:tag: ${error.message}`)
    process.exitCode = 1
  }
}
