/** Files of a new agent test, by path. */
export const fixtureTemplate: Readonly<Record<string, string>> = {
  'task.md': 'Read notes.txt and write what it says into summary.md, in one sentence.\n',
  'files/notes.txt': 'The release is planned for Friday. The tests pass. Two pictures are missing.\n',
  'checks.json': `${JSON.stringify(
    {
      timeoutSeconds: 300,
      checks: [
        { check: 'file_contains', path: 'summary.md', text: 'Friday' },
        { check: 'unchanged', except: ['summary.md'] },
        { check: 'files_list' },
        { check: 'first_paragraph' },
        { check: 'tools_within' },
        { check: 'model_calls', atMost: 10 },
      ],
    },
    undefined,
    2,
  )}\n`,
}
