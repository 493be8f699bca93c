import type { TestApi } from '../api.ts'
import type { Told } from './tell.ts'
import { HOSTILE, LONGEST } from './texts.ts'

/** Configurations and experiments of hostile names, with hostile payloads, audiences and people. */
export async function tellExperiments(api: TestApi, user: string): Promise<Pick<Told, 'config' | 'experiment' | 'group' | 'draft'>> {
  const post = async (path: string, body: object) => {
    const made = await api.call('POST', path, { body })
    if (made.status >= 300) throw new Error(made.text)
    return made.body
  }
  await api.call('POST', '/v4/offerings', { body: { id: `o${'f'.repeat(60)}`, tag: 0, product_ids: ['pro'] } })
  const audience = HOSTILE.map(text => ({ metric: 'property:text', comparator: 'ne', value: text }))
  const payload = JSON.parse(
    `{${HOSTILE.map((text, n) => `${JSON.stringify(text)}: ${JSON.stringify(n % 2 === 0 ? text : [text, { [text]: LONGEST }])}`)}}`,
  )
  const last = HOSTILE.length
  const ids: { config: string; experiment: string }[] = []
  // The last ones are those with pages, whose title no script has to set.
  for (const [n, text] of [...HOSTILE, HOSTILE[6]!, HOSTILE[7]!].entries()) {
    const context_key = n === last ? 'k'.repeat(256) : `key-${n}`
    const at = { name: text, context_key, segmentation_conditions: audience }
    const { id: config } = await post('/v4/remote-configurations', at)
    await api.call('PUT', `/v4/remote-configurations/${config}/payload`, { body: { data: { ...payload, long: LONGEST, accent: '#fff' } } })
    await post(`/v4/remote-configurations/${config}/payload-mapping`, {
      data: { accent: 'Color', long: 'Products', [HOSTILE[0]!]: 'Screens' },
    })
    await post(`/v4/remote-configurations/${config}/users/${user}`, {})
    const more = {
      alias_id: `${'a'.repeat(60)}-${n}`,
      description: LONGEST,
      primary_metric: 'sales',
      goal_value: 1e15,
      goal_direction: 'increase',
    }
    const { id: experiment } = await post('/v4/experiments', { ...at, ...more, is_context_specific: true })
    for (const [m, name] of [text, HOSTILE[2], HOSTILE[5]].entries())
      await post(`/v4/experiments/${experiment}/groups`, {
        ...{ name, is_control: m === 0, weight: 100_000 - m, remote_config_uid: config },
        ...(m === 1 && { offering_uid: `o${'f'.repeat(60)}` }),
      })
    ids.push({ config, experiment })
  }
  const [shown, draft] = [ids[last]!, ids[last + 1]!]
  const { data: groups } = (await api.call('GET', `/v4/experiments/${shown.experiment}/groups`)).body
  await post(`/v4/experiments/${shown.experiment}/status`, { status: 'active' })
  await post(`/v4/experiments/${shown.experiment}/users/${user}`, { group_id: groups[1].id })
  return { config: shown.config, experiment: shown.experiment, group: groups[1].id, draft: draft.experiment }
}
