/** What is read again after a change of groups. The last one is the dry run that says what a draft lacks. */
export const CHANGES = {
  changes: [
    'v4ListExperimentGroups',
    'v4GetExperimentsSummary',
    'v4ListExperimentUsers',
    'v4GetRemoteConfiguration',
    'v4ChangeExperimentStatus',
  ],
} as const
