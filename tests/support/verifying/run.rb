# Reads [{secret, id, timestamp, signatures, body, now}, ...] from standard input and prints a verdict for each.
require "json"
require_relative "verify"

verdicts = JSON.parse($stdin.read).map do |one|
  verify(*one.values_at("secret", "id", "timestamp", "signatures", "body", "now"))
end
puts JSON.generate(verdicts)
