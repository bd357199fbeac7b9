require "openssl"

TOLERANCE = 300 # seconds

# Returns whether this raw body was signed with `secret` ("whsec_…") within five minutes. `id`, `timestamp` and
# `signatures` are the headers webhook-id, webhook-timestamp and webhook-signature.
def verify(secret, id, timestamp, signatures, body, now = Time.now.to_i)
  return false unless timestamp.match?(/\A\d{1,12}\z/) && (now - timestamp.to_i).abs <= TOLERANCE

  key = secret.delete_prefix("whsec_").unpack1("m0")
  expected = [OpenSSL::HMAC.digest("SHA256", key, "#{id}.#{timestamp}.#{body}")].pack("m0")
  signatures.split(" ").any? do |one|
    version, value = one.split(",", 2)
    version == "v1" && OpenSSL.secure_compare(value.to_s, expected)
  end
end
