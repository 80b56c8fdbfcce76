import type { AgentTestResult } from '../../app/agent-tests.ts'
import { paint, printable, type Screen, table, wrapText } from '../terminal/screen.ts'
import { formatSeconds } from './answer-page.ts'
import { formatInteger, formatMoney, formatTokenCounts } from './format-spending.ts'

/** A test that could not be run. */
export interface FailedAgentTest {
  agent: string
  error: { code: string; message: string; remedy: string }
}

/** A test result as JSON. */
export function testResultRow(result: AgentTestResult) {
  const { agent, model, checks, text, usage, took } = result
  const passed = checks.filter(({ ok }) => ok).length
  return {
    ok: passed === checks.length,
    agent,
    model,
    passed,
    of: checks.length,
    checks,
    text,
    usage,
    seconds: took / 1000,
  }
}

/** One line for each check, then the totals. */
export function testResultPage(screen: Screen, result: AgentTestResult): string {
  const lines = result.checks.flatMap(({ ok, says, wants, saw }) => {
    const verdict = ok ? paint(screen, 'green', 'ok    ') : paint(screen, 'red', 'FAILED')
    const expected = says === wants ? '' : ` · expected: ${wants}`
    const text = ok ? says : `${says}${expected} · saw ${saw}`
    return wrapText(`${verdict}  ${printable(text)}`, screen.columns, { words: true, hang: ' '.repeat(8) })
  })
  return [...lines, summaryLine(result)].join('\n')
}

/** One row for each agent, and how many passed everything. */
export function summaryPage(screen: Screen, all: readonly (AgentTestResult | FailedAgentTest)[]): string {
  const rows = all.map((each) => {
    if ('error' in each) return [each.agent, paint(screen, 'red', 'not run'), '', '', '']
    const { ok, passed, of } = testResultRow(each)
    const count = `${passed} of ${of}`
    const { usage, took } = each
    const tokens = formatInteger(usage.inputTokens + usage.outputTokens)
    return [each.agent, paint(screen, ok ? 'green' : 'red', count), tokens, formatMoney(usage), formatSeconds(took)]
  })
  const good = all.filter((each) => !('error' in each) && testResultRow(each).ok).length
  const head = ['agent', 'checks', 'tokens', 'cost', 'took']
  return `${table(screen, [head, ...rows], 0)}\n${good} of ${all.length} agents passed every check`
}

function summaryLine({ checks, model, usage, took }: AgentTestResult): string {
  const passed = checks.filter(({ ok }) => ok).length
  const who = printable(model.actual ?? model.requested)
  return [
    `${passed} of ${checks.length} checks passed`,
    who,
    formatTokenCounts(usage),
    formatMoney(usage),
    formatSeconds(took),
  ].join(' · ')
}
