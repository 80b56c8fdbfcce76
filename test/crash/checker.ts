import { checkAccess } from './checks/access.ts'
import { checkChildren, checkFamilies } from './checks/children.ts'
import { checkEffects } from './checks/effects.ts'
import { checkInputs } from './checks/inputs.ts'
import { checkJobs } from './checks/jobs.ts'
import { checkKeptByHand } from './checks/kept-by-hand.ts'
import { checkBudget, checkLedger, checkRequests, checkTotals } from './checks/ledger.ts'
import { checkMoments } from './checks/moments.ts'
import { checkPlans } from './checks/plans.ts'
import { checkCancelled, checkEpochs, checkLocks, checkRuns } from './checks/runs.ts'
import { checkTranscripts } from './checks/transcripts.ts'
import { checkChains, checkSteps } from './checks/tree.ts'
import { type Evidence, keepMoment, readEvidence } from './evidence.ts'
import type { Expect } from './facts.ts'

// `node checker.ts evidence.json` prints what is wrong. Started with a channel it answers questions until that closes.
// Each problem begins with the invariant that is broken, as numbered in SAFETY. What it says of a run is worked out
// anew from rows and logs, never with the engine's own code.

type Question = { id: number } & ({ judge: string } | { keep: Parameters<typeof keepMoment>[0]; file: string })

const checks: ((evidence: Evidence, expect: Expect) => void)[] = [
  checkInputs,
  checkRuns,
  checkEpochs,
  checkSteps,
  checkChildren,
  checkFamilies,
  checkPlans,
  checkJobs,
  checkKeptByHand,
  checkChains,
  checkTranscripts,
  checkEffects,
  checkCancelled,
  checkRequests,
  checkLedger,
  checkBudget,
  checkTotals,
  checkLocks,
  checkMoments,
  checkAccess,
]

const [file] = process.argv.slice(2)
if (file !== undefined) {
  process.stdout.write(`${JSON.stringify({ problems: await judge(file) })}\n`)
} else {
  process.on('message', async (question: Question) => {
    const problems = await answer(question).catch((error) => [`the checker did not judge: ${error.stack}`])
    process.stdout.write(`${JSON.stringify({ id: question.id, problems })}\n`)
  })
  process.on('disconnect', () => process.exit())
}

async function answer(question: Question): Promise<string[]> {
  if ('judge' in question) return judge(question.judge)
  await keepMoment(question.keep, question.file)
  return []
}

async function judge(file: string): Promise<string[]> {
  const evidence = await readEvidence(file)
  const problems: string[] = []
  const expect: Expect = (holds, invariant, problem) => {
    if (!holds) problems.push(`${invariant}: ${problem}`)
  }
  for (const check of checks) check(evidence, expect)
  return problems
}
