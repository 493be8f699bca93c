import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { PROVIDERS } from '../../domain/integrations/providers.ts'
import { eventDestinations } from '../../workflows/destinations/registry.ts'
import { REPORT_SLUGS } from '../../workflows/report-destinations/report-destination.ts'

const guide = readFileSync(new URL('../../docs/integrations.md', import.meta.url), 'utf8').split('\n')

test.each(PROVIDERS.map(provider => [provider.slug, provider] as const))('the guide names every setting of %s', (slug, provider) => {
  const row = guide.find(line => line.startsWith(`| \`${slug}\` |`))!
  for (const { name, required, secret } of provider.settings)
    expect(row).toContain(`${required ? `**\`${name}\`**` : ` \`${name}\``}${secret ? ' S' : ''}`)
  expect(row).toContain(`| ${provider.stores.join(', ')} |`)
})

test('whoever is delivered to takes it by the table', () => {
  const takers = (what: 'E' | 'R') => PROVIDERS.filter(({ takes }) => takes.includes(what)).map(({ slug }) => slug)
  expect(takers('R').sort()).toEqual([...REPORT_SLUGS].sort())
  expect([...eventDestinations.keys()].filter(slug => !takers('E').includes(slug))).toEqual([])
  expect(takers('E').filter(slug => !eventDestinations.has(slug))).toEqual(['split_metrics', 'asapty'])
})
