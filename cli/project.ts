import type { GroupDefinition } from './definition.ts'
import { commandOf } from './program.ts'
import { createAction } from './project/create.ts'
import { listAction } from './project/list.ts'
import { rawDataAction } from './project/raw-data.ts'
import { rotateAction } from './project/rotate.ts'
import { setAction } from './project/set.ts'

export const projectGroup: GroupDefinition = {
  name: 'project',
  summary: 'projects, their keys and their policies',
  commands: [createAction, listAction, rotateAction, rawDataAction, setAction],
}

export const project = commandOf(projectGroup)
