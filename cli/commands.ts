import { analyticsGroup } from './analytics.ts'
import { backupAction } from './backup.ts'
import { completionAction } from './completion/command.ts'
import type { GroupDefinition } from './definition.ts'
import { helpAction } from './help.ts'
import { importAction } from './import/command.ts'
import { keyGroup } from './key.ts'
import { mcpGroup } from './mcp.ts'
import { migrateAction } from './migrate.ts'
import { operatorGroup } from './operator.ts'
import { PROGRAM } from './program.ts'
import { projectGroup } from './project.ts'
import { ratesAction } from './rates/command.ts'
import { restoreAction } from './restore.ts'
import { sandboxGroup } from './sandbox.ts'
import { screensGroup } from './screens/command.ts'
import { setAsideGroup } from './set-aside.ts'
import { storesGroup } from './stores.ts'
import { usersGroup } from './users.ts'

/** All commands. */
export const root: GroupDefinition = {
  name: PROGRAM,
  summary: 'The commands use the configuration of the service: DATABASE_URL with APP_SECRET, or DATA_DIR.',
  commands: [
    projectGroup,
    keyGroup,
    operatorGroup,
    mcpGroup,
    importAction,
    ratesAction,
    analyticsGroup,
    migrateAction,
    backupAction,
    restoreAction,
    sandboxGroup,
    setAsideGroup,
    screensGroup,
    storesGroup,
    usersGroup,
    completionAction(() => root),
    helpAction(() => root),
  ],
}
