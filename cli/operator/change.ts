import { readConfig } from '../../app/config.ts'
import { closeOperator, demandSecondFactor, resetOperator, setOwner, setRole } from '../../domain/operators/accounts.ts'
import { unlockAccount } from '../../domain/operators/guesses.ts'
import { makeLink } from '../../domain/operators/links.ts'
import { endSessions } from '../../domain/operators/session.ts'
import { transaction } from '../../store/transaction.ts'
import { withDatabase } from '../database.ts'
import { action } from '../definition.ts'
import { UsageError } from '../failure.ts'
import { auditEnd, auditOwner, auditRole, EMAIL, inWords, joinLink, operatorNamed, projectNamed } from './account.ts'
import { givenRole, printLink, RIGHTS } from './create.ts'

export const roleAction = action({
  name: 'role',
  summary: 'give an operator a role in a project, or take it away; the operator signs in anew',
  arguments: [
    EMAIL,
    { name: 'ROLE', says: 'viewer, editor, admin or none', isOptional: true, choices: ['viewer', 'editor', 'admin', 'none'] },
  ],
  options: {
    owner: { says: 'about the owner of the installation: without ROLE the operator becomes one, with "none" is one no longer' },
    project: RIGHTS.project,
  },
  examples: [
    'operator role ben@example.org admin --project 1',
    'operator role ben@example.org none --project 1',
    'operator role ada@example.org --owner',
  ],
  async run({ args: [email, given], values }, { env, signal, out }) {
    const isNone = given === 'none'
    const role = isNone ? null : givenRole(given)
    if (values.owner ? role !== undefined && !isNone : given === undefined)
      throw new UsageError('which role? viewer, editor, admin or none; with --owner nothing or none')
    const text = await withDatabase({ env, signal }, pool =>
      transaction(pool, async tx => {
        const operator = await operatorNamed(tx, email)
        const operation = 'operator role'
        if (values.owner) {
          if (operator.is_owner === isNone) {
            await setOwner(tx, operator.id, !isNone)
            await auditOwner(tx, env, { operator, before: isNone ? 'owner' : null, after: isNone ? null : 'owner', operation })
          }
          return `${operator.email} is ${isNone ? 'no owner any more' : 'an owner of this installation'}.`
        }
        const project = await projectNamed(tx, values.project)
        const before = await setRole(tx, operator.id, project, role ?? null)
        if (before !== (role ?? null)) await auditRole(tx, env, project, { operator, before, after: role ?? null, operation })
        return `${operator.email} ${role ? `is ${role} of` : 'has no role any more in'} project ${project}.`
      }),
    ).catch(inWords)
    out(text)
    return 0
  },
})

export const resetAction = action({
  name: 'reset',
  summary: 'end the password, the second factor, the passkeys and all sessions of an operator; prints a link for a new password',
  arguments: [EMAIL],
  examples: ['operator reset ben@example.org'],
  async run({ args: [email] }, context) {
    const config = readConfig(context.env)
    const { link, name } = await withDatabase(context, (pool, secrets) =>
      transaction(pool, async tx => {
        const operator = await operatorNamed(tx, email)
        await resetOperator(tx, operator.id)
        await unlockAccount(tx, secrets, operator.email)
        return { link: joinLink(config, await makeLink(tx, operator.id)), name: operator.email }
      }),
    )
    context.out(`${name} has no password any more.`)
    printLink(context, link)
    return 0
  },
})

export const signOutAction = action({
  name: 'sign-out',
  summary: 'end all sessions of an operator',
  arguments: [EMAIL],
  examples: ['operator sign-out ben@example.org'],
  async run({ args: [email] }, { env, signal, out }) {
    const [name, ended] = await withDatabase({ env, signal }, async pool => {
      const operator = await operatorNamed(pool, email)
      return [operator.email, await endSessions(pool, operator.id)] as const
    })
    out(`${name} is signed out: ${ended === 1 ? '1 session has' : `${ended} sessions have`} ended.`)
    return 0
  },
})

export const closeAction = action({
  name: 'close',
  summary: 'close an account: it signs in nowhere any more, and keeps its name in the audit log',
  arguments: [EMAIL],
  examples: ['operator close ben@example.org'],
  async run({ args: [email] }, { env, signal, out }) {
    const name = await withDatabase({ env, signal }, pool =>
      transaction(pool, async tx => {
        const operator = await operatorNamed(tx, email)
        await closeOperator(tx, operator.id)
        await auditEnd(tx, env, operator, 'operator close')
        return operator.email
      }),
    ).catch(inWords)
    out(`The account of ${name} is closed.`)
    return 0
  },
})

export const secondFactorAction = action({
  name: 'second-factor',
  summary: 'demand a second factor of everybody or of one operator, or no longer do',
  arguments: [
    { name: 'WHETHER', says: 'needed or optional', choices: ['needed', 'optional'] },
    { ...EMAIL, isOptional: true },
  ],
  details: 'Whoever has none signs in anew and sets one up before anything else. Signing in with a passkey is enough.',
  examples: ['operator second-factor needed', 'operator second-factor needed ada@example.org'],
  async run({ args: [whether, email] }, { env, signal, out }) {
    if (whether !== 'needed' && whether !== 'optional') throw new UsageError('needed or optional?')
    const who = await withDatabase({ env, signal }, pool =>
      transaction(pool, async tx => {
        const operator = email === undefined ? null : await operatorNamed(tx, email)
        await demandSecondFactor(tx, operator?.id ?? null, whether === 'needed')
        return operator?.email ?? 'everybody'
      }),
    )
    out(`A second factor is ${whether === 'needed' ? 'demanded of' : 'optional for'} ${who}.`)
    return 0
  },
})
