import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'

/*
 * Generates src/otlp/proto/messages.js and .d.ts from the .proto files next to them, which come from
 * github.com/open-telemetry/opentelemetry-proto at ac2c4b5, after 1.11.0. Run `npm run generate:otlp` after changing
 * them.
 */

const FOLDER = 'src/otlp/proto'
const FILES = ['trace/v1/trace.proto', 'logs/v1/logs.proto'].map(file => `opentelemetry/proto/${file}`)
const OPTIONS = [
  ...['--target', 'static-module', '--wrap', 'esm', '--root', 'otlp', '--path', FOLDER],
  ...['--dependency', 'protobufjs/minimal.js'],
  ...['encode', 'create', 'verify', 'convert', 'delimited', 'service', 'typeurl'].map(part => `--no-${part}`),
]

/**
 * Runs a program from a package that only this script needs, and that's larger than all of the service's dependencies.
 */
const run = (program: 'pbjs' | 'pbts', options: readonly string[], input?: string): string =>
  execFileSync('npx', ['--yes', '--package', 'protobufjs-cli@2.7.1', program, ...options], {
    input,
    encoding: 'utf8',
    stdio: ['pipe', 'pipe', 'inherit'],
  })

/**
 * Removes an accessor. As a plain property, an AnyValue's `value` names the last field decoded, which is the one that
 * counts. protobufjs makes it an accessor that deletes the seven other fields for each value, which takes a quarter of
 * the decoding time.
 */
function withoutAccessor(module: string): string {
  const accessor = /\n *let \$oneOfFields;\n\n *\$Object\.defineProperty\(AnyValue\.prototype, "value", \{[^}]*\}\);\n/
  if (!accessor.test(module)) throw new Error('the accessor of AnyValue.value was not found')
  return module.replace(accessor, '')
}

// The types are generated from the comments, which the module omits.
const types = run('pbts', ['--no-comments', '-'], run('pbjs', [...OPTIONS, ...FILES]))
writeFileSync(`${FOLDER}/messages.d.ts`, types)
writeFileSync(`${FOLDER}/messages.js`, withoutAccessor(run('pbjs', [...OPTIONS, '--no-comments', ...FILES])))
