import { text as readText } from 'node:stream/consumers'
import { readConfig } from '../../app/config.ts'
import { createOperator, type ListedOperator, operatorWith, setRole } from '../../domain/operators/accounts.ts'
import { LINK_HOURS, makeLink } from '../../domain/operators/links.ts'
import { assertChoosable, hashPassword } from '../../domain/operators/password.ts'
import type { ProjectRole } from '../../domain/operators/roles.ts'
import { lockOperator } from '../../domain/operators/session.ts'
import type { Tx } from '../../store/connect.ts'
import { orderedId } from '../../store/ids.ts'
import { transaction } from '../../store/transaction.ts'
import { hostOf } from '../../workflows/outgoing/mail-address.ts'
import { sendMail } from '../../workflows/outgoing/smtp.ts'
import type { CommandContext } from '../command.ts'
import { withDatabase } from '../database.ts'
import { action, type OptionValues } from '../definition.ts'
import { CliError, UsageError } from '../failure.ts'
import { auditOwner, auditRole, EMAIL, inWords, joinLink, projectNamed } from './account.ts'

const ROLES = ['viewer', 'editor', 'admin'] as const

export const RIGHTS = {
  owner: { says: 'an owner of the installation, who is an admin of every project' },
  role: { value: 'ROLE', says: 'the role in a project: viewer, editor or admin', choices: ROLES },
  project: { value: 'PROJECT', says: 'the number of that project; needed if there is more than one' },
} as const
const PERSON = { name: { value: 'NAME', says: 'the name that others see; without it what stands before the @' }, ...RIGHTS } as const
type Wanted = OptionValues<typeof PERSON>

export function givenRole(given: string | undefined): ProjectRole | undefined {
  const role = ROLES.find(one => one === given)
  if (given !== undefined && role === undefined) throw new UsageError('--role must be viewer, editor or admin')
  return role
}

/** Makes the account; without a password also the link with which one is chosen. */
async function make(
  context: CommandContext,
  operation: string,
  email: string | undefined,
  wanted: Wanted,
  password: string | null,
): Promise<string | null> {
  if (email === undefined) throw new UsageError('an e-mail address is missing')
  const role = givenRole(wanted.role)
  if (wanted.owner === (role !== undefined))
    throw new UsageError('say what the operator may do: --owner, or --role with viewer, editor or admin')
  const config = readConfig(context.env)
  const link = await withDatabase(context, pool =>
    transaction(pool, async tx => {
      if (password !== null) assertChoosable(password, [email, wanted.name ?? ''])
      const passwordHash = password === null ? null : await hashPassword(password)
      const project = role === undefined ? null : await projectNamed(tx, wanted.project)
      const id = await createOperator(tx, { email, name: wanted.name ?? '', isOwner: wanted.owner, passwordHash })
      const operator = { id, email }
      if (role !== undefined && project !== null) {
        await setRole(tx, id, project, role)
        await auditRole(tx, context.env, project, { operator, before: null, after: role, operation })
      } else await auditOwner(tx, context.env, { operator, before: null, after: 'owner', operation })
      return password === null ? joinLink(config, await makeLink(tx, id)) : null
    }),
  ).catch(inWords)
  context.out(
    `${email} is ${wanted.owner ? 'an owner of this installation' : `${role} of ${wanted.project === undefined ? 'the project' : `project ${wanted.project}`}`}.`,
  )
  return link
}

export function printLink({ out }: CommandContext, link: string): void {
  out(`  Link     ${link}`)
  out(`It opens once, within ${LINK_HOURS} hours, and is not shown again.`)
}

export const createOperatorAction = action({
  name: 'create',
  summary: 'make an account; prints a link with which its owner chooses a password',
  arguments: [EMAIL],
  options: { ...PERSON, 'password-stdin': { says: 'read the password from standard input, its first line; then no link is made' } },
  examples: ['operator create ada@example.org --owner', 'operator create ben@example.org --name Ben --role editor --project 1'],
  async run({ args: [email], values }, context) {
    const password = values['password-stdin'] ? (await readText(context.stdin())).split(/\r?\n/)[0]! : null
    const link = await make(context, 'operator create', email, values, password)
    if (link !== null) printLink(context, link)
    return 0
  },
})

const letter = (link: string, publicUrl: string) => `You have been invited to Perennial at ${publicUrl}.

Choose a password within ${LINK_HOURS} hours:

${link}

The link opens once. If you expected no invitation, do nothing.
`

export const inviteOperatorAction = action({
  name: 'invite',
  summary: 'make an account and send the link by mail, where SMTP_URL is set; somebody without a password is sent another one',
  arguments: [EMAIL],
  options: PERSON,
  examples: ['operator invite ben@example.org --name Ben --role viewer --project 1'],
  async run({ args: [email], values }, context) {
    const config = readConfig(context.env)
    const link = (await anotherLink(context, email, values)) ?? (await make(context, 'operator invite', email, values, null))
    if (link === null || email === undefined) throw new CliError('there is nobody to invite')
    if (!config.mail) {
      context.note('SMTP_URL is not set: nothing was sent')
      printLink(context, link)
      return 0
    }
    const { server, from } = config.mail
    const publicUrl = new URL(link).origin
    const messageId = `<${orderedId('inv')}@${hostOf(from) ?? server.host}>`
    const mail = { from, to: [email.trim()], subject: 'An invitation to Perennial', text: letter(link, publicUrl), messageId }
    const mailed = await sendMail(server, mail, { guard: { allowPrivateNetwork: true }, signal: context.signal })
    if (mailed.is === 'accepted') {
      context.out(`The link was sent to ${email}. It opens once, within ${LINK_HOURS} hours.`)
      return 0
    }
    context.note(`the mail was not sent: ${mailed.error}`)
    printLink(context, link)
    return 1
  },
})

/** For somebody who was invited and has no password yet; null for a new address. */
async function anotherLink({ env, signal }: CommandContext, email: string | undefined, wanted: Wanted): Promise<string | null> {
  if (email === undefined) return null
  const config = readConfig(env)
  return withDatabase({ env, signal }, pool =>
    transaction(pool, async tx => {
      const found = await operatorWith(tx, { email })
      if (!found) return null
      // Whoever opens the link of before at this moment chooses a password: it is looked for afterwards.
      await lockOperator(tx, found.id)
      const known = await operatorWith(tx, { id: found.id })
      if (!known) return null
      if (known.has_password)
        throw new CliError(`${known.email} has a password: "operator reset" makes a link for somebody who has lost it`)
      await assertSameRights(tx, known, wanted)
      return joinLink(config, await makeLink(tx, known.id))
    }),
  )
}

/** A second invitation gives no rights: without any, or with those of the first one, it is taken. */
async function assertSameRights(tx: Tx, known: ListedOperator, { owner, role: given, project: named }: Wanted): Promise<void> {
  const role = givenRole(given)
  const has = role === undefined ? undefined : known.roles[await projectNamed(tx, named)]
  const isSame = (!owner || known.is_owner) && (role === undefined || has === role)
  if (!isSame) throw new CliError(`${known.email} is invited with other rights: "operator role" changes them`)
}
