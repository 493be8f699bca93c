import { audit } from '../../domain/audit/record.ts'
import type { Automation, AutomationChange } from '../../domain/automations/automation.ts'
import { deleteAutomation, getAutomation, listAutomations } from '../../domain/automations/automation.ts'
import { createAutomation } from '../../domain/automations/create.ts'
import type { AutomationInput } from '../../domain/automations/input.ts'
import { changeAutomationStatus } from '../../domain/automations/status.ts'
import { updateAutomation } from '../../domain/automations/update.ts'
import { inTransaction, onPool } from '../operation.ts'
import { cursorPage, restartedHeader } from '../pagination.ts'

const automation = ({ id, name, caption, status, data, version }: Automation) => ({
  object: 'automation' as const,
  id,
  url: `/v4/automations/${id}`,
  name,
  caption,
  status,
  data,
  version,
})

const changed = ({ before, after }: AutomationChange & { before: Automation }) => ({
  resource: 'automation',
  id: after.id,
  before: automation(before),
  after: automation(after),
})

type Body = Omit<AutomationInput, 'caption'> & { caption?: string }
const input = ({ name, caption = '', status, data }: Body): AutomationInput => ({ name, caption, status, data })

export const v4ListAutomations = onPool('v4ListAutomations', async ({ query: { limit, starting_after }, environment, db }) => {
  const { rows, restarted } = await listAutomations(db, environment, limit, starting_after)
  return { body: cursorPage({ url: '/v4/automations', rows, limit, item: automation }), headers: restartedHeader(restarted) }
})

export const v4CreateAutomation = inTransaction('v4CreateAutomation', async ({ body, environment, trail, tx }) => {
  const made = automation(await createAutomation(tx, environment, input(body as Body)))
  await audit(tx, trail, { resource: 'automation', id: made.id, after: made })
  return { body: made }
})

export const v4GetAutomation = onPool('v4GetAutomation', async ({ path, environment, db }) => ({
  body: automation(await getAutomation(db, environment, path.automation_id)),
}))

export const v4UpdateAutomation = inTransaction('v4UpdateAutomation', async ({ path, body, environment, trail, tx }) => {
  const { before, after } = await updateAutomation(tx, environment, path.automation_id, input(body as Body))
  if (before) await audit(tx, trail, changed({ before, after }))
  return { body: automation(after) }
})

export const v4DeleteAutomation = inTransaction('v4DeleteAutomation', async ({ path, environment, trail, tx }) => {
  const before = automation(await deleteAutomation(tx, environment, path.automation_id))
  await audit(tx, trail, { resource: 'automation', id: before.id, before })
  return { body: undefined }
})

export const v4UpdateAutomationStatus = inTransaction('v4UpdateAutomationStatus', async ({ path, body, environment, trail, tx }) => {
  const { before, after } = await changeAutomationStatus(tx, environment, path.automation_id, body.status)
  if (before) await audit(tx, trail, changed({ before, after }))
  return { body: undefined }
})
