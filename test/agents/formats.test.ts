import { describe, expect, test } from 'vitest'
import { read, said } from './place.ts'

describe('an agent is read from the file of any program', () => {
  test('ours says everything', () => {
    const text = `---
name: release-notes
description: Writes release notes from the history.
triggers: [release, changelog]
tools: [read_file, exec]
model: fast
audience: users
---

# Release notes

You write them.
`
    const path = '/home/skills/release-notes.md'
    expect(read(text, path, { models: ['main', 'fast'] })).toEqual({
      name: 'release-notes',
      description: 'Writes release notes from the history.',
      triggers: ['release', 'changelog'],
      tools: ['read_file', 'exec'],
      ask: [],
      limits: [],
      model: 'fast',
      body: '# Release notes\n\nYou write them.',
      path,
      format: 'heddle',
      source: 'home',
      hash: expect.stringMatching(/^[0-9a-f]{64}$/),
      status: 'ready',
      promptTokens: 8,
      diagnostics: [],
      extra: { audience: 'users' },
    })
  })

  test('a skill of the open standard', () => {
    const agent = read(
      `---
name: pdf-forms
description: Fills in PDF forms. Use when the user has a form to be filled in.
license: Apache-2.0
compatibility: needs pdftk
metadata:
  author: someone
  version: "1.0"
allowed-tools: Bash(pdftk:*) Read
---
Fill it in.
`,
      '/x/pdf-forms/SKILL.md',
    )
    expect(agent).toMatchObject({
      name: 'pdf-forms',
      format: 'agent-skill',
      status: 'ready',
      tools: ['exec', 'read_file'],
      ask: ['exec'],
      limits: ['Bash(pdftk:*)'],
      triggers: ['Use when the user has a form to be filled in'],
      extra: { license: 'Apache-2.0', compatibility: 'needs pdftk', metadata: { author: 'someone', version: '1.0' } },
    })
    expect(said(agent)).toEqual(['note 9: limits are not enforced yet: treated as ask: Bash(pdftk:*)'])
  })

  test('a Claude Code agent: tools by their names there, a model of its own, fields that we do not know', () => {
    const agent = read(
      `---
name: debugger
description: Debugging specialist. Use proactively when tests fail.
tools: Read, Edit, Bash, Grep, Glob, TodoWrite
disallowedTools: Bash
model: sonnet
color: red
permissionMode: plan
---
You debug.
`,
      '/x/debugger.md',
      { models: ['main'] },
    )
    expect(agent).toMatchObject({
      format: 'claude-agent',
      status: 'broken',
      tools: ['read_file', 'edit_file', 'search_files', 'list_dir'],
      model: null,
      triggers: ['Use proactively when tests fail'],
      extra: { disallowedTools: 'Bash', color: 'red', permissionMode: 'plan' },
    })
    expect(said(agent)).toEqual([
      'error 6: there is no model sonnet in heddle.yaml',
      'note 4: not needed here and left out: TodoWrite',
    ])
  })

  test('a Claude Code skill: when_to_use tells when, commands in its text are never run', () => {
    const agent = read(
      `---
name: deploy
description: Deploys the app.
when_to_use: When the user says ship it. Or deploy.
argument-hint: "[environment]"
disable-model-invocation: true
allowed-tools:
  - Bash(npm run deploy)
  - Read
---
State: !\`git status\`
`,
      '/x/deploy/SKILL.md',
    )
    expect(agent).toMatchObject({
      format: 'claude-skill',
      triggers: ['When the user says ship it. Or deploy.'],
      tools: ['exec', 'read_file'],
      ask: ['exec'],
      body: 'State: !`git status`',
    })
    expect(said(agent)).toContain('note: commands in its text, !`…`, are not run: it reads them as text')
  })

  test('an opencode agent: a map of tools, permissions, a model with its provider', () => {
    const agent = read(
      `---
description: Reviews code without making edits
mode: subagent
model: anthropic/claude-sonnet-4-5
temperature: 0.1
tools:
  write: false
  edit: false
  bash: true
  read: true
permission:
  bash:
    "git diff": allow
    "*": ask
---
Review.
`,
      '/x/review.md',
      { models: ['main'] },
    )
    expect(agent).toMatchObject({
      name: 'review',
      format: 'opencode',
      status: 'broken',
      tools: ['exec', 'read_file'],
      ask: ['exec'],
      model: null,
    })
    expect(said(agent)).toContain("note: it has no name: review is its file's")
  })

  test('an opencode agent that only has permissions has the tools that these allow or ask about', () => {
    const agent = read(
      '---\ndescription: d\nmode: subagent\npermission:\n  edit: deny\n  bash: ask\n  webfetch: allow\n---\nx\n',
    )
    expect([agent.tools, agent.ask]).toEqual([['exec', 'web_fetch'], ['exec']])
  })

  test('an OpenClaw skill: metadata as JSON in one line, and without tools it has none', () => {
    const agent = read(
      `---
name: weather
description: Get current weather and forecasts (no API key required).
homepage: https://wttr.in/:help
metadata: {"clawdbot":{"emoji":"🌤️","requires":{"bins":["curl"]}}}
---
Use curl.
`,
      '/x/weather/SKILL.md',
    )
    expect(agent).toMatchObject({ format: 'openclaw', status: 'degraded', tools: [] })
    expect(agent.extra['metadata']).toEqual({ clawdbot: { emoji: '🌤️', requires: { bins: ['curl'] } } })
    expect(said(agent)[0]).toBe('warning: it lists no tools, so it has none')
    expect(agent.diagnostics[0]?.remedy).toContain('tools: [read_file')
  })

  test('the directory decides where its name tells more than the file', () => {
    expect(read('---\nname: a\ndescription: b\ntools: []\n---\nc').format).toBe('heddle')
  })
})

describe('what a file leaves out or says in another way', () => {
  test('an agent without a description is degraded, and no line of its instructions stands for it', () => {
    const agent = read('---\nname: some-agent\ntools: []\ntriggers: [maps]\n---\n# Title\n\nHelps with maps.\n')
    expect([agent.description, agent.status]).toEqual(['(no description)', 'degraded'])
    expect(said(agent)).toEqual(['warning: it has no description: the coordinator sees "(no description)"'])
  })

  test('an agent that does not say when to use it gets a note', () => {
    const agent = read('---\nname: some-agent\ndescription: Draws maps.\ntools: []\n---\nx\n')
    expect([agent.triggers, agent.status, said(agent)]).toEqual([
      [],
      'ready',
      ['note: it has no triggers: only its description says when to use it'],
    ])
    expect(agent.diagnostics[0]?.remedy).toContain('triggers: [')
  })

  test('neither description nor instructions: broken', () => {
    expect(read('---\nname: some-agent\ntools: []\n---\n').status).toBe('broken')
  })

  test('types that drift: a version stays as written, a list of models, null, a number for a name', () => {
    const agent = read(
      '---\nname: 42\ndescription: [one, two]\ntools: []\nmodel: [gone, main]\nversion: 1.10\nhomepage:\n---\nx\n',
      '/x/42.md',
      { models: ['main'] },
    )
    expect(agent).toMatchObject({
      name: '42',
      description: 'one two',
      model: 'main',
      status: 'ready',
      extra: { version: '1.10', homepage: null },
    })
  })

  test.each([
    [
      'in one line',
      'Use this agent to test: it tries things. Examples: <example>Context: a. user: "b"</example> and more',
    ],
    ['with signs for line ends', 'Use this agent to test: it tries things.\\n\\n<example>\\nContext: a\\n</example>'],
    [
      'over many lines',
      'Use this agent to test: it tries things.\n\nExamples:\n\n<example>\nContext: a.\nuser: "b"\n</example>',
    ],
  ])('a description with conversations as examples, %s: the line before them, and all of it in extra', (_, written) => {
    const agent = read(`---\nname: some-agent\ndescription: ${written}\ntools: Read\n---\nx`)
    expect(agent).toMatchObject({
      description: 'Use this agent to test: it tries things.',
      triggers: ['Use this agent to test: it tries things'],
      tools: ['read_file'],
      status: 'ready',
    })
    expect(Object.keys(agent.extra)).toEqual(['description'])
    expect(agent.extra['description']).toContain('Context: a')
  })

  test.each([
    ['a list', '[deploy, ship it]', ['deploy', 'ship it']],
    ['a text with commas', 'deploy, ship it', ['deploy', 'ship it']],
    [
      'a list of objects',
      '[{pattern: deploy}, {keywords: [ship, it], threshold: 0.7, auto: true}]',
      ['deploy', 'ship', 'it'],
    ],
  ])('triggers as %s', (_, written, triggers) => {
    expect(read(`---\nname: a\ndescription: b\ntools: []\ntriggers: ${written}\n---\nc`).triggers).toEqual(triggers)
  })

  test.each(['/x/some-agent.md', '/x/some-agent/SKILL.md'])(
    'a model that is not configured breaks the agent, and the nearest name is told: %s',
    (path) => {
      const text = '---\nname: some-agent\ndescription: b\ntools: []\ntriggers: [a]\nmodel: mian\n---\nc'
      const agent = read(text, path, { models: ['main'] })
      expect([agent.status, said(agent), agent.diagnostics[0]?.remedy]).toEqual([
        'broken',
        ['error 6: there is no model mian in heddle.yaml'],
        'did you mean main?',
      ])
    },
  )

  test('instructions that are long, and text that nobody sees', () => {
    const long = read(`---\nname: some-agent\ndescription: b\ntools: []\ntriggers: [a]\n---\n${'line\n'.repeat(501)}`)
    expect([long.status, said(long)]).toEqual([
      'ready',
      ['note: the instructions are long: 501 lines, about 626 tokens'],
    ])
    const hidden = read(
      '---\nname: some-agent\ndescription: b\ntools: []\ntriggers: [a]\n---\nab\u{e0041}\u200bc 👩‍💻 ☀️\n',
    )
    expect(said(hidden)).toEqual(['warning: it has 2 invisible characters'])
  })
})

describe('names', () => {
  test.each([
    ['Frontend Developer', 'frontend-developer'],
    ['plugin:agent', 'plugin-agent'],
    ['-lead', 'lead'],
    ['Snake_Case', 'snake-case'],
  ])('%s becomes %s, and that is told', (written, name) => {
    const changed = `note 2: the name "${written}" was changed to ${name}`
    const agent = read(`---\nname: "${written}"\ndescription: b\ntools: []\ntriggers: [a]\n---\nc`, `/x/${name}.md`)
    expect([agent.name, agent.status, said(agent)]).toEqual([name, 'ready', [changed]])
    const elsewhere = read(`---\nname: "${written}"\ndescription: b\ntools: []\ntriggers: [a]\n---\nc`, '/x/b.md')
    expect(said(elsewhere)).toEqual([changed, `note 2: it is called ${name}, its file b`])
  })

  test('a name that was made from the name of the file or folder, and changed on the way, is told', () => {
    const text = '---\ndescription: b\ntools: []\ntriggers: [a]\n---\nc'
    expect(said(read(text, '/x/Bad Name.md'))).toEqual([
      'note: it has no name: bad-name is made from its file "Bad Name"',
    ])
    expect(said(read(text, '/x/Bad Name/SKILL.md'))).toEqual([
      'note: it has no name: bad-name is made from its folder "Bad Name"',
    ])
  })

  test.each([
    ['a Cyrillic letter that looks like ours', 'c\u043eder', 'U+043E'],
    ['a letter of full width', '\uff43oder', 'U+FF43'],
    ['a character of no width', 'cod\u200ber', 'U+200B'],
    ['a mark that turns text around', 'cod\u202eer', 'U+202E'],
    ['a letter with an accent', 'résumé', 'U+00E9'],
  ])('%s is refused', (_, written, code) => {
    const agent = read(`---\nname: "${written}"\ndescription: b\ntools: []\n---\nc`)
    expect([agent.status, agent.diagnostics[0]?.message]).toEqual(['broken', expect.stringContaining(code)])
    expect(agent.name).not.toMatch(/[\u200b\u202e]/)
  })

  test.each(['general', 'coordinator', 'Coordinator'])('%s is reserved for heddle', (name) => {
    const agent = read(`---\nname: ${name}\ndescription: b\ntools: []\n---\nc`, `/x/${name}.md`)
    expect([agent.status, said(agent)[0]]).toEqual(['broken', expect.stringContaining('is reserved for heddle')])
  })

  test('a name that its file or folder does not have is told', () => {
    expect(said(read('---\nname: a\ndescription: b\ntools: []\ntriggers: [a]\n---\nc', '/x/b.md'))).toEqual([
      'note 2: it is called a, its file b',
    ])
    expect(said(read('---\nname: a\ndescription: b\ntools: []\ntriggers: [a]\n---\nc', '/x/b/SKILL.md'))).toEqual([
      'note 2: it is called a, its folder b',
    ])
  })

  test('a name that is too long or has no letters is refused', () => {
    expect(read(`---\nname: ${'a'.repeat(65)}\ndescription: b\ntools: []\n---\nc`).status).toBe('broken')
    expect(read('---\nname: "---"\ndescription: b\ntools: []\n---\nc').status).toBe('broken')
  })
})
