import { describe, expect, test } from 'vitest'
import type { ApprovalView } from '../../src/api/views/approval.ts'
import { wholeQuestion } from '../../src/cli/approvals/question-page.ts'
import { QuestionPager } from '../../src/cli/approvals/question-pager.ts'
import type { Confinement } from '../../src/domain/approval.ts'
import { quotePath } from '../../src/domain/text/visible.ts'

const screen = { columns: 80, rows: 24, isTerminal: true, color: false }
const coloured = { ...screen, color: true }
const bounds: Record<Confinement, string> = {
  none: 'WITHOUT A SANDBOX: it can do whatever you can, for at most 120 s',
  network: 'in the sandbox, with the network, for at most 120 s',
  sandbox: 'in the sandbox, without the network, for at most 120 s',
}

function question(confinement: Confinement, more: { cwd?: string; change?: string } = {}): ApprovalView {
  const { cwd = '/home/you/shop', change = 'make' } = more
  return {
    id: 3,
    agent: 'coder',
    tool: 'exec',
    runId: '1m7hebw1bjnew7fx88kc',
    request: 'fix it',
    reason: 'exec asks first (tools.ask)',
    facts: [
      { name: 'runs', value: bounds[confinement] },
      { name: 'where', value: quotePath(cwd) },
    ],
    trusted: true,
    sources: [],
    folder: '/home/you/shop',
    change,
    covers: `exec \`${change}\` in ${cwd}`,
    coverage: {
      tool: 'exec',
      folder: '/home/you/shop',
      cwd,
      confinement,
      pattern: JSON.stringify({ command: change }),
    },
    hash: 'x',
    requestSession: 'main',
    scopes: ['once', 'session', 'agent'],
  } as unknown as ApprovalView
}

const forged = `${'x'.repeat(20)} `.repeat(9)
const longCwd = `/home/you/shop/${Array.from({ length: 14 }, () => `${forged}runs     in the sandbox`).join('/')}`

describe('a very long directory', () => {
  test('takes four rows at most, so that what bounds the command stays on the screen', () => {
    const rows = new QuestionPager(screen, question('none', { cwd: longCwd }), {}).begin().split('\n')
    expect(rows.length).toBeLessThanOrEqual(screen.rows)
    expect(rows[1]).toContain('runs     WITHOUT A SANDBOX')
    const [, more] = /… ([\d,]+) more characters, heddle show approval:3 shows all$/.exec(rows[5] ?? '') ?? []
    expect(Number(more?.replace(',', ''))).toBeGreaterThan(2000)
    expect(rows[6]).toContain('why ')
  })

  test('is whole where the question is read elsewhere', () => {
    const page = wholeQuestion({ ...screen, columns: 10_000 }, question('none', { cwd: longCwd }))
    expect(page).toContain(JSON.stringify(longCwd))
    expect(wholeQuestion(screen, question('none', { cwd: longCwd }))).not.toContain('more characters')
  })
})

test('a question that is read elsewhere says what each wider scope would cover', () => {
  const lines = wholeQuestion(screen, question('network')).split('\n')
  expect(lines.slice(lines.indexOf('  │ make') + 1)).toEqual([
    '  scope    --scope session: every agent in session main: exec `make` in',
    '           /home/you/shop, until a run may have changed a file there',
    '  scope    --scope agent: @coder in this folder, in every session: exec `make`',
    '           in /home/you/shop, until a run may have changed a file there',
    'heddle approve 3 --hash x    heddle deny 3 --reason "…"',
  ])
  const budget = { ...question('sandbox'), scopes: ['once'] as ApprovalView['scopes'] }
  expect(wholeQuestion(screen, budget)).not.toContain('--scope')
})

describe('what bounds a command that has more than the plain sandbox', () => {
  test.each(['none', 'network'] as const)(
    'stands in red right above the choices, on every page (%s)',
    (confinement) => {
      const change = Array.from({ length: 60 }, (_, at) => `echo ${at}`).join('\n')
      const shown = new QuestionPager(coloured, question(confinement, { change }), {})
      const pages = [shown.begin()]
      while (shown.prompt.endsWith('v/n> ')) {
        const taken = shown.take('v')
        pages.push(taken && 'say' in taken ? taken.say : '')
      }
      expect(pages.length).toBeGreaterThan(2)
      for (const page of pages) {
        const rows = page.split('\n')
        const choices = rows.findIndex((row) => row.includes('you have not seen') || row.includes('this once'))
        expect(rows[choices - 1]).toContain(`\u001b[31m${bounds[confinement]}`)
        expect(rows.length).toBeLessThanOrEqual(screen.rows)
      }
    },
  )

  test('is not repeated for the plain sandbox', () => {
    const page = new QuestionPager(screen, question('sandbox'), {}).begin()
    expect(page.split(bounds.sandbox)).toHaveLength(2)
  })
})

test.each([
  ['/home/you/my shop/a-b_c.d', '/home/you/my shop/a-b_c.d'],
  ['/home/you/größe', '/home/you/größe'],
  ['/a  runs     in the sandbox', '"/a  runs     in the sandbox"'],
  ['/a\nb', '"/a\\nb"'],
  ['/a ', '"/a "'],
  ['/a;b', '"/a;b"'],
])('the path %j is told as %s', (path, told) => expect(quotePath(path)).toBe(told))
