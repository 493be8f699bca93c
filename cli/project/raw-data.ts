import { audit } from '../../domain/kernel/audit/record.ts'
import { setRawData } from '../../domain/projects/settings.ts'
import { transaction } from '../../store/transaction.ts'
import { PROJECT, projectId } from '../arguments.ts'
import { withDatabase } from '../database.ts'
import { action } from '../definition.ts'
import { UsageError } from '../failure.ts'
import { projectTrail } from './trail.ts'

export const rawDataAction = action({
  name: 'raw-data',
  summary: 'allow or forbid exports of raw data',
  arguments: [{ name: 'on|off', says: 'allow or forbid', choices: ['on', 'off'] }, PROJECT],
  examples: ['project raw-data off 1'],
  async run({ args: [state, given] }, context) {
    if (state !== 'on' && state !== 'off') throw new UsageError('raw-data on or off?')
    const id = projectId(given)
    await withDatabase(context, pool =>
      transaction(pool, async tx => {
        const on = state === 'on'
        const before = await setRawData(tx, id, on)
        const change = { resource: 'project', id: String(id), before: { raw_data: before }, after: { raw_data: on } } as const
        if (before !== on) await audit(tx, projectTrail(context, id, 'raw-data'), change)
      }),
    )
    context.out(`Raw data of project ${id} is ${state}${state === 'off' ? ': new exports are refused' : ''}.`)
    return 0
  },
})
