import { transaction } from '../../store/transaction.ts'
import { pinExperiment, unpinExperiment } from '../pins.ts'
import { onUser } from './operation.ts'

export const v3AttachUserToExperiment = onUser('v3AttachUserToExperiment', async ({ path, body, user, trail, db }) => {
  await transaction(db, tx => pinExperiment(tx, trail, { id: path.id, user: user.id }, body.group_id))
  return {}
})

export const v3DetachUserFromExperiment = onUser('v3DetachUserFromExperiment', async ({ path, user, trail, db }) => {
  await transaction(db, tx => unpinExperiment(tx, trail, { id: path.id, user: user.id }))
  return {}
})
