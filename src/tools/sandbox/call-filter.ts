/** A system call by its number, and when it is refused: always, or if bits of an argument are set. */
interface Refused {
  number: number
  /** Only if one of these bits is set; without it in any case. */
  when?: Bits
  /** And one of these. */
  also?: Bits
  /** Only for this value of an argument. */
  equals?: { argument: number; value: number }
  answer?: number
}

interface Bits {
  argument: number
  bits: number
}

// Instructions of the classic Berkeley packet filter, and what a filter may answer.
const [load, isEqual, isSet, isAtLeast, answer] = [0x20, 0x15, 0x45, 0x35, 0x06]
const [allowed, refused, killed] = [0x7fff0000, 0x00050000, 0x80000000]
const [notPermitted, notThere] = [1, 38]
const [numberAt, architectureAt] = [0, 4]
// Numbers from here on are those of another kind of call on the same machine.
const foreignCalls = 0x40000000

const setsOwner = 0o6000
const creates = 0o100 | 0o20000000
const typesIntoTerminal = 0x5412

const mode = (number: number, argument: number): Refused => ({ number, when: { argument, bits: setsOwner } })
const opening = (number: number, flags: number): Refused => ({
  number,
  also: { argument: flags, bits: creates },
  when: { argument: flags + 1, bits: setsOwner },
})
const missing = (number: number): Refused => ({ number, answer: notThere })
const typing = (number: number): Refused => ({ number, equals: { argument: 1, value: typesIntoTerminal } })

// Calls whose arguments no filter sees: openat2 and those of io_uring. They answer as an older kernel does.
const everywhere = [missing(437), missing(425), mode(452, 2)]

const machines: Partial<Record<NodeJS.Architecture, { architecture: number; calls: Refused[] }>> = {
  x64: {
    architecture: 0xc000003e,
    calls: [
      ...[
        opening(2, 1),
        opening(257, 2),
        mode(85, 1),
        mode(90, 1),
        mode(91, 1),
        mode(268, 2),
        mode(133, 1),
        mode(259, 2),
      ],
      ...[{ number: 248 }, { number: 249 }, { number: 250 }, typing(16), ...everywhere],
    ],
  },
  arm64: {
    architecture: 0xc00000b7,
    calls: [
      ...[opening(56, 2), mode(52, 1), mode(53, 2), mode(33, 2)],
      ...[{ number: 217 }, { number: 218 }, { number: 219 }, typing(29), ...everywhere],
    ],
  },
}

/**
 * What the walls of bubblewrap leave open, as a program for the kernel: files that make whoever runs them their owner
 * would outlast the sandbox, and the keys that the kernel holds for a session are in no namespace. Undefined for
 * machines whose numbers are not known here.
 */
export function callFilter(machine: NodeJS.Architecture): Buffer | undefined {
  const known = machines[machine]
  if (!known) return undefined
  return Buffer.concat([
    instruction(load, architectureAt),
    instruction(isEqual, known.architecture, 1, 0),
    instruction(answer, killed),
    instruction(load, numberAt),
    instruction(isAtLeast, foreignCalls, 0, 1),
    instruction(answer, refused | notThere),
    ...known.calls.flatMap(checked),
    instruction(answer, allowed),
  ])
}

/** The check of one call; another one goes past it. */
function checked({ number, when, also, equals, answer: error = notPermitted }: Refused): Buffer[] {
  const conditions = [
    ...[also, when].flatMap((each) => (each ? [{ test: isSet, argument: each.argument, value: each.bits }] : [])),
    ...(equals ? [{ test: isEqual, ...equals }] : []),
  ]
  const body = conditions.flatMap(({ test, argument, value }, at) => [
    instruction(load, 16 + 8 * argument),
    // To the end, which allows it: past the conditions that follow, and the refusal.
    instruction(test, value, 0, 2 * (conditions.length - at - 1) + 1),
  ])
  const end = [instruction(answer, refused | error), ...(conditions.length > 0 ? [instruction(answer, allowed)] : [])]
  return [instruction(isEqual, number, 0, body.length + end.length), ...body, ...end]
}

function instruction(code: number, value: number, ifTrue = 0, ifFalse = 0): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeUInt16LE(code, 0)
  bytes.writeUInt8(ifTrue, 2)
  bytes.writeUInt8(ifFalse, 3)
  bytes.writeUInt32LE(value >>> 0, 4)
  return bytes
}
