import { listOperators } from '../domain/operators/accounts.ts'
import { withDatabase } from './database.ts'
import { action, type GroupDefinition, JSON_OPTION } from './definition.ts'
import { closeAction, resetAction, roleAction, secondFactorAction, signOutAction } from './operator/change.ts'
import { createOperatorAction, inviteOperatorAction } from './operator/create.ts'
import { commandOf } from './program.ts'
import { jsonText, textTable } from './table.ts'

const HEADERS = ['e-mail', 'name', 'rights', 'password', 'second factor', 'passkeys', 'single sign-on', 'created', 'last used']

const listOperatorsAction = action({
  name: 'list',
  summary: 'all operators with their roles',
  options: JSON_OPTION,
  examples: ['operator list', 'operator list --json'],
  async run({ values }, { env, signal, out }) {
    const operators = await withDatabase({ env, signal }, listOperators)
    if (values.json) out(jsonText(operators))
    else if (operators.length === 0) out('There are no operators.')
    else {
      const rights = (roles: Record<string, string>) => Object.entries(roles).map(([project, role]) => `${role} of ${project}`)
      const rows = operators.map(one => [
        ...[
          one.email,
          one.name,
          one.is_owner ? 'owner' : rights(one.roles).join(', ') || 'none',
          one.has_password ? 'yes' : one.has_single_sign_on ? 'no' : 'invited',
        ],
        ...[
          one.has_second_factor ? 'yes' : one.needs_second_factor ? 'demanded' : 'no',
          String(one.passkeys),
          one.has_single_sign_on ? 'yes' : 'no',
          one.created_at,
          one.last_used_at ?? '-',
        ],
      ])
      for (const line of textTable(HEADERS, rows)) out(line)
    }
    return 0
  },
})

export const operatorGroup: GroupDefinition = {
  name: 'operator',
  summary: 'people who sign in, and their roles',
  commands: [
    createOperatorAction,
    inviteOperatorAction,
    listOperatorsAction,
    roleAction,
    secondFactorAction,
    resetAction,
    signOutAction,
    closeAction,
  ],
}

export const operator = commandOf(operatorGroup)
