import type { Answered } from '../domain/app.ts'
import type { Answer as Said } from '../domain/approval.ts'
import { Misuse } from '../domain/errors.ts'
import { answerPage } from './answer-page.ts'
import type { Answer, Here, Register } from './cli.ts'
import { noteAndLeave } from './note-and-leave.ts'
import { questionPage, questionRow } from './question-page.ts'
import { printable, table } from './screen.ts'
import { exitCodeOf, needsYouLine } from './waiting.ts'

const scopes = ['once', 'session', 'agent'] as const

export const registerApprovals: Register = (program, run) => {
  program
    .command('approvals')
    .helpGroup('DECIDE')
    .description('calls that wait for your word')
    .action(
      run(async (here) => {
        const approvals = await (await here.door()).approvals()
        const [only] = approvals
        if (!only) return { json: { approvals }, text: 'nothing waits for you    heddle grants shows what you allowed' }
        const text =
          approvals.length === 1 ? questionPage(here.screen, only) : table(here.screen, approvals.map(questionRow), 3)
        const id = approvals.length === 1 ? only.id : 'ID'
        return { json: { approvals }, text: `${text}\nheddle approve ${id}    heddle deny ${id} --reason "…"` }
      }),
    )

  program
    .command('approve <id>')
    .helpGroup('DECIDE')
    .description('let a call that waits be made, exactly as it was shown')
    .option('--scope <scope>', 'once; session: also later ones like it here; agent: this agent in this folder', 'once')
    .option('--no-wait', 'only say it; `heddle up` does the work')
    .addHelpText('after', '\nExample: heddle approve 3 --scope session')
    .action(
      run((here, [id = ''], options) => {
        const scope = scopes.find((known) => known === options['scope'])
        if (!scope) throw new Misuse(`"${options['scope']}" is no scope`, `use --scope ${scopes.join(', ')}`)
        return decide(here, id, { answer: scope }, options['wait'] !== false)
      }),
    )

  program
    .command('deny <id>')
    .helpGroup('DECIDE')
    .description('say no to a call that waits; the agent is told why')
    .option('--reason <text>', 'told to the agent')
    .option('--no-wait', 'only say it; `heddle up` does the work')
    .action(
      run((here, [id = ''], options) =>
        decide(
          here,
          id,
          { answer: 'no', ...(options['reason'] !== undefined && { reason: String(options['reason']) }) },
          options['wait'] !== false,
        ),
      ),
    )

  const grants = program
    .command('grants')
    .helpGroup('DECIDE')
    .description('what you allowed for more than one call')
    .action(
      run(async (here) => {
        const found = await (await here.door()).grants()
        const rows = found.map((grant) => [
          String(grant.id),
          grant.scope === 'session' ? `session ${printable(grant.session ?? '–')}` : `@${printable(grant.agent)}`,
          printable(grant.folder),
          printable(grant.covers),
        ])
        const text = found.length > 0 ? `${table(here.screen, rows, 3)}\nheddle grants revoke ID` : 'nothing is granted'
        return { json: { grants: found }, text }
      }),
    )
  grants
    .command('revoke <id>')
    .description('take it back: from the next call on you are asked again')
    .action(
      run(async (here, [id = '']) => {
        if (!/^\d+$/.test(id)) throw new Misuse(`"${id}" is not the number of a grant`, 'heddle grants lists them')
        await (await here.door()).revokeGrant(Number(id))
        return { json: { ok: true }, text: `grant ${id} is taken back` }
      }),
    )
}

/** Says it, and, unless a daemon does the work, goes on with the request here until it is done or asks again. */
async function decide(here: Here, id: string, said: { answer: Said; reason?: string }, wait: boolean): Promise<Answer> {
  const daemon = await here.daemon()
  const door = daemon ?? (await here.door())
  const since = here.clock.monotonic()
  const decided = await door.decide(id, said)
  const told = `approval:${decided.id} ${said.answer === 'no' ? 'denied' : 'approved'}`
  if (!wait) {
    const work = daemon ? '' : '    heddle up does the work'
    return { json: { ok: true, ...decided }, text: `${told}${work}` }
  }
  here.tell(told)
  const { folder, session, itemId } = decided
  const work = daemon ? undefined : await (await here.app()).work({ folder, session })
  try {
    const answer = await door.answer(folder, itemId, here.stopped)
    const after = () => noteAndLeave(here, work, { ...answer, folder })
    return { json: answer, text: pageOf(here, answer, since), code: exitCodeOf(answer), after }
  } catch (error) {
    await work?.stop()
    throw error
  }
}

function pageOf(here: Here, answer: Answered, since: number): string {
  return answer.status === 'waiting'
    ? needsYouLine(answer)
    : answerPage(here.screen, { ...answer, took: here.clock.monotonic() - since })
}
