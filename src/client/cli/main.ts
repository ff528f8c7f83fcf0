import { run } from './program.ts'
import { Stop } from './stop.ts'

/* The program `countersign`, which connects the commands to their process. */

const stop = new AbortController()

for (const [name, ending] of [
  ['SIGINT', 'interrupted'],
  ['SIGTERM', 'terminated'],
] as const) {
  process.on(name, () => {
    // A user who sends a second signal doesn't want to wait.
    if (stop.signal.aborted) process.exit(ending === 'interrupted' ? 130 : 143)
    stop.abort(new Stop(ending))
  })
}

for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    // Nobody reads the rest of the output.
    process.exit(error.code === 'EPIPE' ? 141 : 70)
  })
}

process.exitCode = await run(process.argv.slice(2), {
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  environment: process.env,
  directory: process.cwd(),
  signal: stop.signal,
})
// If stdin has been read, a terminal or a pipe would keep the process alive.
process.stdin.destroy()
// A request that the command no longer waits for would also keep the process alive.
if (stop.signal.aborted) process.exit()
