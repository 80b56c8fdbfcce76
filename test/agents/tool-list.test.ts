import { describe, expect, test } from 'vitest'
import { toolList } from '../../src/agents/tool-list.ts'

const list = (fields: Record<string, unknown>, known?: string[]) =>
  toolList(new Map(Object.entries(fields)), new Map(Object.keys(fields).map((key, at) => [key, at + 1])), known)

describe('a list of tools is read in every spelling', () => {
  test.each([
    ['a text with commas', { tools: 'Read, Grep, Bash' }],
    ['a text with spaces', { 'allowed-tools': 'Read Grep Bash' }],
    ['a text with both', { tools: 'Read,Grep Bash' }],
    ['a text in brackets', { tools: '[Read, "Grep", Bash]' }],
    ['a list', { tools: ['Read', 'Grep', 'Bash'] }],
    ['a list of texts with commas', { tools: ['Read, Grep', 'Bash'] }],
    ['a list of objects', { tools: [{ name: 'Read', description: 'reads' }, { name: 'Grep' }, { name: 'Bash' }] }],
    ['a list of small maps', { tools: [{ read: true }, { grep: true }, { bash: true }] }],
    ['a map', { tools: { read: true, grep: 'yes', bash: 'allow', write: false, edit: 'deny', webfetch: 'no' } }],
    ['other names of the field', { allowedTools: 'read_file, search_files, exec' }],
    ['each twice', { tools: 'Read, read_file, Grep, Bash, Bash' }],
  ])('%s', (_, fields) => {
    expect(list(fields)).toEqual({ tools: ['read_file', 'search_files', 'exec'], ask: [], limits: [], findings: [] })
  })

  test('what stands in parentheses belongs to its tool, with commas, spaces and parentheses of its own', () => {
    const { tools, ask, limits } = list({
      'allowed-tools': 'Bash(git add:*, git commit:*), Read Bash(echo (a b)), Task(reviewer, tester) Write(*)',
    })
    expect(tools).toEqual(['exec', 'read_file', 'write_file'])
    expect(ask).toEqual(['exec'])
    expect(limits).toEqual(['Bash(git add:*, git commit:*)', 'Bash(echo (a b))', 'Task(reviewer, tester)'])
  })

  test('a parenthesis that never closes limits its tool', () => {
    expect(list({ tools: 'Read, Bash(git:*' })).toMatchObject({ tools: ['read_file', 'exec'], ask: ['exec'] })
  })

  test('no list, or a list of nothing', () => {
    expect(list({}).findings).toMatchObject([{ level: 'warning', message: 'it lists no tools, so it has none' }])
    expect(list({ tools: null }).findings).toMatchObject([{ level: 'warning', line: 1 }])
    expect(list({ tools: [] })).toEqual({ tools: [], ask: [], limits: [], findings: [] })
    expect(list({ tools: { write: false } }).findings).toMatchObject([
      { message: expect.stringContaining('may not use') },
    ])
  })

  test.each([
    ['Reed', 'did you mean read_file?'],
    ['serch_files', 'did you mean search_files?'],
    ['WebSearch', 'did you mean web_fetch?'],
    ['quantum_flux', expect.stringContaining('there are read_file')],
    ['mcp__github__list_issues', 'remove them'],
    ['*', expect.stringContaining('as in read_file')],
  ])('%s is left out, with a remedy', (spelling, remedy) => {
    const { tools, findings } = list({ tools: [spelling, 'Read'] })
    expect(tools).toEqual(['read_file'])
    expect(findings).toMatchObject([{ level: 'warning', line: 1, remedy }])
  })

  test('a tool that starts agents, or does not exist yet, is left out, and that degrades nobody', () => {
    for (const name of ['agents_list', 'delegate']) {
      const { tools, findings } = list({ tools: [name, 'Read'] })
      expect([tools, findings.map(({ level }) => level)]).toEqual([['read_file'], ['note']])
    }
  })

  test('what only the coordinator does is left out of every file, and that is no fault', () => {
    const { tools, findings } = list({ tools: 'Read, Task, memory_store, wait' })
    expect(tools).toEqual(['read_file'])
    expect(findings).toMatchObject([
      {
        level: 'note',
        message: 'agents cannot start others or write memories; left out: spawn_agent, memory_store, wait',
      },
    ])
  })

  test('tools of the program that opened heddle are known, too', () => {
    expect(list({ tools: 'deploy_site, Read' }, ['deploy_site'])).toMatchObject({
      tools: ['deploy_site', 'read_file'],
      findings: [],
    })
  })

  test('many of a kind are told in one finding', () => {
    const { findings } = list({
      tools: 'Bash(a:*), Bash(b:*), mcp__a__b, mcp__c, TodoWrite, BashOutput, agents_list',
    })
    expect(findings.map(({ level, message }) => [level, message])).toEqual([
      ['warning', 'tools of MCP servers cannot be used yet: mcp__a__b, mcp__c'],
      ['note', 'not needed here and left out: TodoWrite, BashOutput'],
      ['note', 'limits are not enforced yet: treated as ask: Bash(a:*), Bash(b:*)'],
      ['note', 'agents cannot start others or write memories; left out: agents_list'],
    ])
  })

  test('permissions alone name only what differs from what is usual elsewhere: that may be too little', () => {
    expect(list({ permission: { edit: 'deny', bash: 'allow' } })).toMatchObject({
      tools: ['exec'],
      findings: [{ level: 'warning', message: expect.stringContaining('cannot read files') }],
    })
    expect(list({ permission: { read: 'allow', edit: { '*.lock': 'deny' }, '*': 'deny' } })).toMatchObject({
      tools: ['read_file', 'edit_file'],
      ask: ['edit_file'],
      findings: [{ level: 'note' }],
    })
  })

  test('permissions as a list of rules', () => {
    const permissions = [
      { permission: 'read', action: 'allow' },
      { permission: 'bash', pattern: 'git *', action: 'allow' },
      { permission: 'edit', action: 'deny' },
      { permission: 'webfetch', action: 'ask' },
    ]
    expect(list({ permissions })).toMatchObject({
      tools: ['read_file', 'exec', 'web_fetch'],
      ask: ['exec', 'web_fetch'],
    })
  })

  test('a denial wins, and one in part makes the tool ask', () => {
    expect(list({ tools: 'Read, Bash, Write', disallowedTools: 'Write, Bash(rm:*)' })).toMatchObject({
      tools: ['read_file', 'exec'],
      ask: ['exec'],
    })
  })
})
