// `npm run generate` brings the charts of docs/analytics.md up to date, and makes the pages that the service serves from it and from
// docs/errors.md. All are committed.
import { readFileSync, writeFileSync } from 'node:fs'
import { withCharts } from './generate/charts.ts'
import { htmlOf } from './generate/markdown.ts'

const PAGE = new URL('../docs/analytics.md', import.meta.url)
const SERVED = new URL('docs/analytics.html', import.meta.url)
const ERRORS = new URL('../docs/errors.md', import.meta.url)
const ERRORS_SERVED = new URL('docs/errors.html', import.meta.url)

const STYLE = `body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color-scheme: light dark }
table { border-collapse: collapse; margin: 1rem 0 } th, td { border: 1px solid #8886; padding: 0.3rem 0.6rem; text-align: left; vertical-align: top }
pre { overflow-x: auto; padding: 0.8rem; background: #8882 } code { font-size: 0.9em } :target { background: #fd08 }`

const page = (name: string, body: string) => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>Perennial: ${name}</title>
    <link rel="icon" href="data:," />
    <style>
${STYLE}
    </style>
  </head>
  <body>
<!-- Made by npm run generate from docs/${name}.md. -->
${body}
  </body>
</html>
`

/** The page about analytics, and as it is served; the page about errors, as it is served. */
export function generatePages(): { markdown: string; html: string; errors: string } {
  const markdown = withCharts(readFileSync(PAGE, 'utf8'))
  return { markdown, html: page('analytics', htmlOf(markdown)), errors: page('errors', htmlOf(readFileSync(ERRORS, 'utf8'))) }
}

if (import.meta.main) {
  const { markdown, html, errors } = generatePages()
  writeFileSync(PAGE, markdown)
  writeFileSync(SERVED, html)
  writeFileSync(ERRORS_SERVED, errors)
}
