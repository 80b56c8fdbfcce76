/** A refused system call: always, or only for certain arguments. */
interface RefusedSystemCall {
  number: number
  /** Only if one of these bits is set. */
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

// Instructions of classic BPF, and the return values of a seccomp filter.
const [load, isEqual, isSet, isAtLeast, answer] = [0x20, 0x15, 0x45, 0x35, 0x06]
const [allowed, refused, killed] = [0x7fff0000, 0x00050000, 0x80000000]
const [EPERM, ENOSYS] = [1, 38]
const [numberAt, architectureAt] = [0, 4]
// Numbers from here on belong to another ABI (x32) of the same machine.
const foreignCalls = 0x40000000

const setuidOrSetgid = 0o6000
// O_CREAT and O_TMPFILE.
const createFlags = 0o100 | 0o20000000
const TIOCSTI = 0x5412

const modeCall = (number: number, argument: number): RefusedSystemCall => ({
  number,
  when: { argument, bits: setuidOrSetgid },
})
const openCall = (number: number, flags: number): RefusedSystemCall => ({
  number,
  also: { argument: flags, bits: createFlags },
  when: { argument: flags + 1, bits: setuidOrSetgid },
})
const absent = (number: number): RefusedSystemCall => ({ number, answer: ENOSYS })
const injection = (number: number): RefusedSystemCall => ({ number, equals: { argument: 1, value: TIOCSTI } })

// Calls whose arguments a filter cannot see: openat2 and io_uring. They fail with ENOSYS, as in an older kernel.
const allMachines = [absent(437), absent(425), modeCall(452, 2)]

const machines: Partial<Record<NodeJS.Architecture, { architecture: number; calls: RefusedSystemCall[] }>> = {
  x64: {
    architecture: 0xc000003e,
    calls: [
      ...[
        openCall(2, 1),
        openCall(257, 2),
        modeCall(85, 1),
        modeCall(90, 1),
        modeCall(91, 1),
        modeCall(268, 2),
        modeCall(133, 1),
        modeCall(259, 2),
      ],
      ...[{ number: 248 }, { number: 249 }, { number: 250 }, injection(16), ...allMachines],
    ],
  },
  arm64: {
    architecture: 0xc00000b7,
    calls: [
      ...[openCall(56, 2), modeCall(52, 1), modeCall(53, 2), modeCall(33, 2)],
      ...[{ number: 217 }, { number: 218 }, { number: 219 }, injection(29), ...allMachines],
    ],
  },
}

/**
 * Seccomp program for what bubblewrap leaves open: setuid files would outlast the sandbox, and the kernel's keyrings are in
 * no namespace. Undefined for architectures whose call numbers are not listed.
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
    instruction(answer, refused | ENOSYS),
    ...known.calls.flatMap(checkCall),
    instruction(answer, allowed),
  ])
}

/** Instructions for one call; all other calls skip them. */
function checkCall({ number, when, also, equals, answer: error = EPERM }: RefusedSystemCall): Buffer[] {
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
